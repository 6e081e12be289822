"""Which words an encoder's answer rests on: the label of a text, or the match of two texts.

    label    f = p(label)                        words of the text, and of its pair
    match    f = cos(v(A), v(B))                 words of A while B stays, then words of B

Two views of each word, pieces summed:

    gradients   integrated gradients of f (explain/gradients.py): they add up to what f changes by
    attention   mean over heads of the last layer's weights, from the tokens that the answer is
                read from to the word:   a_w = mean_h mean_i Σ_{j in w} A_h[i, j]
                i is the first token where it speaks for the text, every token where the vector is
                a mean or a maximum; then as shares: what goes to [CLS] and [SEP] is left out

Attention says where the last layer looked; it is no account of the answer. Where the two views
name other words, `Account.verdict` says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.answer.labels import probabilities as label_probabilities
from regard.answer.loaded import LoadedModel
from regard.answer.prompt import fitting, one_text, row_of
from regard.draw.notebook.table import BarCell, html_table
from regard.errors import MisuseError
from regard.explain.gradients import Attribution, attribute
from regard.model.masks import Mask
from regard.model.pool import POOL
from regard.model.trace import Trace
from regard.model.transformer import Transformer
from regard.text.encoded import Encoded
from regard.text.published import PublishedTokenizer

HIDDEN_BY = ("mask", "pad", "unk")  # roles that can stand for a word that is not told


@dataclass(frozen=True, repr=False)
class Account:
    """The words of a text with both views."""

    answer: str  # "glad", or "match"
    text: str
    words: list[str]
    gradients: Float[np.ndarray, " words"]
    attention: Float[np.ndarray, " words"]
    looked_elsewhere: float  # share of attention that went to special tokens
    attribution: Attribution
    hidden_by: str  # the token that stands for each word where nothing is told

    @property
    def correlation(self) -> float | None:
        """Rank correlation of |gradients| and attention; None where there is nothing to rank."""
        return rank_correlation(np.abs(self.gradients), self.attention)

    def __repr__(self) -> str:
        return f"<Account of {self.answer!r}: {self.text!r}>"

    def _repr_html_(self) -> str:
        """Both views of each word, and the verdict."""
        rows = [
            (word, float(gradient), BarCell(float(weight)))
            for word, gradient, weight in zip(
                self.words, self.gradients, self.attention, strict=True
            )
        ]
        head = ("word", "integrated gradients", "attention, last layer")
        title = f"{self.answer}: {self.attribution.value:.4f}"
        return f"{html_table(head, rows, title)}<p>{escape(self.verdict)}</p>"

    @property
    def verdict(self) -> str:
        """One sentence: do both views name the same word?"""
        if len(self.words) < 2:
            return "One word: there is nothing to compare."
        rests = self.words[int(np.abs(self.gradients).argmax())]
        looked = self.words[int(self.attention.argmax())]
        if np.abs(self.gradients).argmax() == self.attention.argmax():
            return f'Both name "{rests}" first.'
        return (
            f'They disagree: attention looks most at "{looked}", the answer rests most on '
            f'"{rests}". The gradients add up to what the words change; attention need not.'
        )


def explain_label(
    model: LoadedModel,
    text: str,
    pair: str | None = None,
    label: str | None = None,
    steps: int | None = None,
) -> Account:
    """Which words p(label) rests on; without a label, that of the likeliest one."""
    model.demand("classify")
    if model.spec.head != "classes":
        raise MisuseError("explain: this model labels each token; expected one label for a text")
    tokenizer = _tokenizer(model)
    encoded = _encoded(model, text, pair)
    segments = row_of(model.transformer, encoded.segments)
    labels = model.bundle.labels

    def probabilities(rows: Float[Tensor, "B L D"]) -> Float[Tensor, "B C"]:
        memory = _memory(model.transformer, rows, segments.expand(len(rows), -1))
        return label_probabilities(labels, model.transformer.answer(memory))

    rows, baseline, hidden_by = _ends(model.transformer, tokenizer, encoded)
    with torch.no_grad():
        best = int(probabilities(rows[None])[0].argmax())
    if label is not None and label not in labels.names:
        raise MisuseError(f"label: got {label!r}, expected one of {', '.join(labels.names)}")
    chosen = best if label is None else labels.names.index(label)
    attribution = attribute(lambda x: probabilities(x)[:, chosen], rows, baseline, steps)
    return _account(model, encoded, labels.names[chosen], text, attribution, hidden_by, ("cls",))


def explain_match(
    model: LoadedModel, first: str, second: str, steps: int | None = None
) -> tuple[Account, Account]:
    """Which words of each text the cosine rests on while the other text stays as it is."""
    model.demand("embed")
    tokenizer, pooling = _tokenizer(model), model.bundle.pooling
    sides = [_encoded(model, text, None) for text in (first, second)]

    def vector(rows: Float[Tensor, "B L D"]) -> Float[Tensor, "B E"]:
        memory = _memory(model.transformer, rows, None)
        real = torch.ones(memory.shape[:2], dtype=torch.bool, device=memory.device)
        return torch.cat([POOL[mode](memory, real) for mode in pooling.modes], dim=-1)

    accounts = []
    for own, other, text in ((0, 1, first), (1, 0, second)):
        rows, baseline, hidden_by = _ends(model.transformer, tokenizer, sides[own])
        with torch.no_grad():
            fixed = vector(_rows(model.transformer, sides[other].ids)[None])
        cosine = _cosine_with(vector, fixed)
        attribution = attribute(cosine, rows, baseline, steps)
        accounts.append(
            _account(model, sides[own], "match", text, attribution, hidden_by, pooling.modes)
        )
    return accounts[0], accounts[1]


def _cosine_with(
    vector: Callable[[Tensor], Tensor], fixed: Float[Tensor, "1 E"]
) -> Callable[[Tensor], Tensor]:
    return lambda rows: F.cosine_similarity(vector(rows), fixed, dim=-1)


def _memory(
    model: Transformer, rows: Float[Tensor, "B L D"], segments: Tensor | None
) -> Float[Tensor, "B L D"]:
    """The encoder's vectors for rows that need not be rows of any token."""
    assert model.source_embedding is not None and model.encoder is not None
    x = model.source_embedding.assembled(rows, segments=segments)
    memory: Tensor = model.encoder(x, Mask())
    return memory


def _rows(model: Transformer, ids: tuple[int, ...]) -> Float[Tensor, "L D"]:
    assert model.source_embedding is not None
    return model.source_embedding.weight.detach()[row_of(model, ids)[0]]


def _ends(
    model: Transformer, tokenizer: PublishedTokenizer, encoded: Encoded
) -> tuple[Tensor, Tensor, str]:
    """Rows of the text, rows of the text that tells nothing, and which token it is made of."""
    role = next((role for role in HIDDEN_BY if role in tokenizer.roles), None)
    rows = _rows(model, encoded.ids)
    special = _special(tokenizer, encoded)
    if role is None:
        hidden = torch.zeros_like(rows)
        name = "a row of zeros"
    else:
        hidden = _rows(model, (tokenizer.roles[role],)).expand_as(rows)
        name = tokenizer.pieces([tokenizer.roles[role]])[0]
    kept = torch.tensor(special, device=rows.device)[:, None]
    return rows, torch.where(kept, rows, hidden), name


def _account(
    model: LoadedModel,
    encoded: Encoded,
    answer: str,
    text: str,
    attribution: Attribution,
    hidden_by: str,
    modes: tuple[str, ...],
) -> Account:
    tokenizer = _tokenizer(model)
    weights = _last_weights(model.transformer, encoded)
    looking = weights[:1] if modes == ("cls",) else weights
    looked = looking.mean(axis=0)
    groups = word_groups(tokenizer, encoded)
    if not groups:
        raise MisuseError("explain: the text has no words; give a text")
    attention = np.array([looked[places].sum() for _, places in groups])
    total = float(attention.sum())
    return Account(
        answer,
        text,
        [word for word, _ in groups],
        np.array([attribution.tokens[places].sum() for _, places in groups]),
        attention / total if total else attention,
        1 - total,
        attribution,
        hidden_by,
    )


@torch.no_grad()
def _last_weights(model: Transformer, encoded: Encoded) -> Float[np.ndarray, "L L"]:
    """The last layer's attention, mean over heads."""
    trace = Trace()
    ids, segments = row_of(model, encoded.ids), row_of(model, encoded.segments)
    model.encode(ids, trace=trace, segments=segments)
    last = model.spec.encoder_layers - 1
    weights: np.ndarray = (
        trace[f"encoder.{last}.self.weights"][0].mean(dim=0).double().cpu().numpy()
    )
    return weights


def word_groups(tokenizer: PublishedTokenizer, encoded: Encoded) -> list[tuple[str, list[int]]]:
    """(word, places of its pieces), special tokens left out."""
    groups: list[tuple[str, list[int]]] = []
    pieces, special = tokenizer.pieces(encoded.ids), _special(tokenizer, encoded)
    for place, (piece, apart) in enumerate(zip(pieces, special, strict=True)):
        if apart:
            continue
        goes_on = tokenizer.later[encoded.ids[place]]
        if goes_on and groups and groups[-1][1][-1] == place - 1:
            word, places = groups[-1]
            groups[-1] = (word + piece.removeprefix("##"), [*places, place])
        else:
            groups.append((piece.removeprefix("▁"), [place]))
    return groups


def _special(tokenizer: PublishedTokenizer, encoded: Encoded) -> list[bool]:
    """[CLS] and [SEP]: what frames a text and is no word. [UNK] and [MASK] stand for words."""
    roles = tokenizer.roles
    frame = {roles[role] for role in ("cls", "sep", "pad", "bos", "eos") if role in roles}
    return [i in frame for i in encoded.ids]


def _encoded(model: LoadedModel, text: str, pair: str | None) -> Encoded:
    text = one_text(text, "explain")
    pair = None if pair is None else one_text(pair, "explain")
    return fitting(_tokenizer(model).encode(text, pair), model.transformer, "explain")


def _tokenizer(model: LoadedModel) -> PublishedTokenizer:
    return model.tokenizer_for(model.tasks[0])


def rank_correlation(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"]) -> float | None:
    """Spearman's: the correlation of ranks, equal numbers sharing the mean of theirs."""
    ranks = [_ranks(values) for values in (a, b)]
    if any(np.ptp(values) == 0 for values in ranks):
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = counts.cumsum().astype(np.float64)
    mean: np.ndarray = (last - (counts - 1) / 2)[place]
    return mean
