"""What the model looked at: attention weights of any layer and head, for a text and its output.

The numbers are those of one traced pass over the text and the whole output (explain/feed.py). Where
an encoder stands before the decoder, rows of its attention are named by the token that each of them
predicts; a decoder alone reads its text too, so there a row is the token that looks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from regard.answer.loaded import LoadedModel
from regard.draw.figure.heat_map import heat_map
from regard.draw.figure.png import write_png
from regard.draw.figure.svg import write_svg
from regard.draw.grid import make_grid
from regard.draw.notebook.attention import LayeredMap, attention_html
from regard.errors import MisuseError
from regard.explain.place import Place, groups_of, kinds_of, layer_number
from regard.explain.traced_pass import trace_pass
from regard.model.spec import Spec
from regard.model.trace import Trace

KIND_NAMES = {
    "cross": "cross-attention",
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
}


@dataclass(frozen=True, repr=False)
class AttentionMap:
    """Weights of one layer: (heads, rows, columns); each row sums to 1."""

    weights: Float[np.ndarray, "H rows columns"]
    rows: list[str]
    columns: list[str]
    kind: str
    layer: int

    def head(self, head: int | None) -> Float[np.ndarray, "rows columns"]:
        """One head (counted from 1), or the mean of all."""
        count = len(self.weights)
        if head is None:
            mean: np.ndarray = self.weights.mean(axis=0)
            return mean
        if not 1 <= head <= count:
            raise MisuseError("head", f"this model has heads 1 to {count}", got=head)
        chosen: np.ndarray = self.weights[head - 1]
        return chosen

    def title(self, head: int | None) -> str:
        which = "mean of all heads" if head is None else f"head {head}"
        return f"{KIND_NAMES[self.kind]}, layer {self.layer}, {which}"

    def save(self, path: str | Path, head: int | None = None) -> None:
        """Draw it into a file, .svg or .png: rows are words that look, columns those looked at."""
        write = {".svg": write_svg, ".png": write_png}.get(Path(path).suffix)
        if write is None:
            raise MisuseError(path, expected="a name that ends in .svg or .png")
        grid = make_grid(self.head(head), self.rows, self.columns)
        write(Path(path), heat_map(grid, self.title(head)))

    def __repr__(self) -> str:
        heads, rows, columns = self.weights.shape
        return f"<AttentionMap {self.kind}, layer {self.layer}: {heads} heads, {rows} × {columns}>"


@dataclass(frozen=True, repr=False)
class Attentions:
    """A text, its output ("" of an encoder), and every attention weight of the pass."""

    source: str
    output: str
    title: str
    spec: Spec
    _trace: Trace
    _source_groups: list[tuple[str, list[int]]]
    _target_groups: list[tuple[str, list[int]]]  # of the predicted tokens
    _input_groups: list[tuple[str, list[int]]]  # of the tokens fed in: shifted right

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which attentions there are: cross, encoder, decoder, or one of the last two."""
        return kinds_of(self.spec)

    def map(self, kind: str | None = None, layer: int | None = None) -> AttentionMap:
        """The weights of one layer (counted from 1; None: the last) as words × words.

        Without a kind they are of cross-attention, or of the one that the model has.
        """
        kind = kind or self.kinds[0]
        number = layer_number(self.spec, kind, layer)
        weights = self.traced("weights", kind, number)
        rows = self._source_groups if kind == "encoder" else self._target_groups
        columns = self._input_groups if kind == "decoder" else self._source_groups
        return AttentionMap(
            merge(weights, rows, columns),
            [word for word, _ in rows],
            [word for word, _ in columns],
            kind,
            number,
        )

    def traced(
        self, name: str, kind: str, layer: int | None = None
    ) -> Float[np.ndarray, "H rows columns"]:
        """What the pass recorded in one attention, from `q` to `weights`, token by token."""
        place = Place(kind, layer_number(self.spec, kind, layer), head=1, query=0)
        numbers: np.ndarray = self._trace[f"{place.part}.{name}"][0].cpu().double().numpy()
        return numbers

    def __repr__(self) -> str:
        return f"<Attentions {self.title!r}>"

    def _repr_html_(self) -> str:
        """Every layer and head, with selectors."""
        shown = []
        for kind in self.kinds:
            layers = self.spec.encoder_layers if kind == "encoder" else self.spec.decoder_layers
            maps = [self.map(kind, number) for number in range(1, layers + 1)]
            weights = [each.weights for each in maps]
            shown.append(LayeredMap(KIND_NAMES[kind], maps[0].rows, maps[0].columns, weights))
        return attention_html(shown, self.title)


def merge(
    weights: Float[np.ndarray, "H L S"],
    rows: Sequence[tuple[str, list[int]]],
    columns: Sequence[tuple[str, list[int]]],
) -> Float[np.ndarray, "H rows columns"]:
    """Sub-words to words: attention *to* a word is the sum over its pieces, *from* it the mean."""
    to_words = np.stack([weights[:, :, places].sum(axis=2) for _, places in columns], axis=2)
    merged: np.ndarray = np.stack([to_words[:, places].mean(axis=1) for _, places in rows], axis=1)
    return merged


def attend(
    model: LoadedModel,
    text: str,
    output: str | None = None,
    pieces: bool = False,
    pair: str | None = None,
    most: int | None = None,
) -> Attentions:
    """Trace the pass over a text and its output: the model's own, or the one that is given."""
    done = trace_pass(model, text, output, pair, most)

    def groups(ids: list[int]) -> list[tuple[str, list[int]]]:
        return groups_of(done.tokenizer, ids, pieces)

    source, fed = (
        done.sides[side].ids if side in done.sides else [] for side in ("source", "target")
    )
    return Attentions(
        done.text,
        done.output,
        done.title,
        done.spec,
        done.trace,
        groups(source),
        groups(done.predicted if source else fed),
        groups(fed),
    )
