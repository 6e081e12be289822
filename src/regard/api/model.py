"""One model for every folder: `regard.load("runs/demo").translate("How are you?")`.

What a model cannot do is an error that lists what it can. Importing this imports no torch: each
task brings what it needs when it is first asked for.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from regard.answer.loaded import LoadedModel
from regard.answer.score import Scored, score_texts
from regard.answer.translate import Translation
from regard.bundle.bundle import AnyTokenizer, open_bundle
from regard.bundle.words_seen import WordsSeen
from regard.engines.engines import EngineRequest
from regard.errors import MisuseError, nearest

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float
    from numpy.typing import NDArray
    from torch import Tensor

    from regard.answer.fill import Candidate
    from regard.answer.labels import Label
    from regard.answer.tag import Tag
    from regard.bundle.labels import Labels

Advance = Callable[[int], None]


class Model(LoadedModel):
    """A model with the tasks that it offers: `tasks` lists them."""

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.bundle.path

    @property
    def tokenizer(self) -> AnyTokenizer | None:
        """Text ↔ ids; None where the folder has no files for it."""
        return self.bundle.tokenizer

    @overload
    def translate(self, text: str, **options: Any) -> str: ...
    @overload
    def translate(self, text: list[str], **options: Any) -> list[str]: ...
    def translate(self, text: str | list[str], **options: Any) -> str | list[str]:
        """The best translation of a text, or of each of a list.

        Options are the fields of `Search` (beam, n_best, alpha, max_length, temperature, …) and of
        `Reading` (split, language, prefix).
        """
        return self._best("translate", text, options)

    @overload
    def generate(self, text: str, **options: Any) -> str: ...
    @overload
    def generate(self, text: list[str], **options: Any) -> list[str]: ...
    def generate(self, text: str | list[str], **options: Any) -> str | list[str]:
        """What the model makes of a text, or of each of a list. Options: the fields of `Search`,
        and prefix."""
        return self._best("generate", text, options)

    def _best(self, task: str, text: str | list[str], options: dict[str, Any]) -> str | list[str]:
        texts = [text] if isinstance(text, str) else list(text)
        answers = [best[0].text for best in self.outputs(task, texts, **options)]
        return answers[0] if isinstance(text, str) else answers

    def translations(self, texts: list[str], **options: Any) -> list[list[Translation]]:
        """The `n_best` translations of each text, with scores."""
        return self.outputs("translate", texts, **options)

    def outputs(self, task: str, texts: list[str], **options: Any) -> list[list[Translation]]:
        """The `n_best` outputs of `generate` or `translate` for each text, with scores.

        What is generated from is never split into sentences.
        """
        self.demand(task)
        whole = {"split": False} if task == "generate" else {}
        return self.translator.translations(texts, task, **(whole | options))

    def score(self, sources: str | list[str], targets: str | list[str]) -> list[Scored]:
        """How likely the model finds each target as the output for its source."""
        return score_texts(self.translator, self.engines.take_to_score(), sources, targets)

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that the model was never trained on, where its run keeps a list."""
        seen = WordsSeen.of_run(self.folder / "data")
        return [] if seen is None else seen.new_in(text)

    def complete(self, prompt: str, **options: Any) -> str:
        """What follows the prompt. Options: temperature (0: greedy), top_k, top_p, seed,
        max_tokens."""
        return "".join(self.stream(prompt, **options))

    def stream(self, prompt: str, **options: Any) -> Iterator[str]:
        """The completion piece by piece, each as soon as it is made."""
        from regard.answer.complete import stream_text  # imports torch
        from regard.decode.sample import Sampling  # imports torch

        self.tokenizer_for("complete")
        names = vars(Sampling())
        for name in options:
            if name not in names:
                raise MisuseError(f"complete: unknown option {name!r}{nearest(name, names)}")
        return stream_text(self, prompt, Sampling(**options))

    def fill(self, text: str, top: int = 5) -> "list[list[Candidate]]":
        """For each [MASK] of the text, the likeliest words with probabilities."""
        from regard.answer.fill import fill_text  # imports torch

        return fill_text(self, text, top)

    def classify(self, text: str, pair: str | None = None, top: int | None = None) -> "list[Label]":
        """The labels of a text or a pair, likeliest first; of each token where the head is such."""
        from regard.answer.classify import classify_text  # imports torch

        return classify_text(self, text, pair, top)

    def classify_all(
        self,
        texts: Sequence[str | tuple[str, str | None]],
        advance: Advance = lambda count: None,
    ) -> "tuple[Labels, Float[np.ndarray, 'n C'], int]":
        """The labels, the probability of each for each text (or pair), and how many were cut.

        A text that is too long for the model is cut, as it was in training.
        """
        from regard.answer.classify import class_probabilities  # imports torch

        return self.bundle.labels, *class_probabilities(self, texts, advance)

    def tag(self, text: str | Sequence[str]) -> "list[Tag]":
        """The tag of each word of a text; a list is taken as words."""
        from regard.answer.tag import tag_one  # imports torch

        return tag_one(self, text)

    def tag_all(
        self, texts: Sequence[str | Sequence[str]], advance: Advance = lambda count: None
    ) -> "list[list[Tag | None]]":
        """The tags of many texts (or lists of words); None for a word beyond what is read."""
        from regard.answer.tag import tag_rows  # imports torch

        return tag_rows(self, texts, advance)

    def see(self, file: str | Path, top: int | None = None) -> "list[Label]":
        """The labels of an image file, likeliest first."""
        from regard.answer.see import see_file  # imports torch

        return see_file(self, Path(file), top)

    def embed(
        self, texts: str | Sequence[str], advance: Advance | None = None
    ) -> "NDArray[np.float32]":
        """A vector for a text (D,), or one for each of a list (n, D), pooled as the folder says.

        `advance` is told how many more texts are done, for a progress bar."""
        vectors = self.embedder([texts] if isinstance(texts, str) else list(texts), advance)
        return vectors[0] if isinstance(texts, str) else vectors

    @overload
    def similar(self, first: str, second: str, advance: Advance | None = None) -> float: ...
    @overload
    def similar(
        self, first: list[str], second: list[str], advance: Advance | None = None
    ) -> "Float[np.ndarray, ' n']": ...
    def similar(
        self, first: str | list[str], second: str | list[str], advance: Advance | None = None
    ) -> "float | Float[np.ndarray, ' n']":
        """The cosine of two texts' vectors, or of each pair of two lists."""
        from regard.answer.similar import compare  # imports numpy

        if isinstance(first, str) and isinstance(second, str):
            return float(compare(self.embed, [first], [second])[0])
        if isinstance(first, str) or isinstance(second, str):
            raise MisuseError("similar: got a text and a list, expected two texts or two lists")
        return compare(lambda texts: self.embed(texts, advance), first, second)

    @property
    def vector_size(self) -> int:
        """How many numbers a vector of `embed` has."""
        return self.embedder.size

    def logits(
        self,
        ids: Any = None,
        mask: Any = None,
        target: Any = None,
        pixels: Any = None,
        segments: Any = None,
    ) -> "Float[Tensor, 'B *L V']":
        """The raw logits of a batch: ids, or pixels, and target ids for an encoder–decoder model.

        Lists of ids or tensors; one row may be given without its batch. `mask` is true (1) where a
        token is real; padding may stand on either side of a decoder-only model's text.
        """
        from regard.answer.logits import raw_logits  # imports torch

        return raw_logits(self.transformer, ids, mask, target, pixels, segments)


def load(
    path: str | Path,
    device: str = "auto",
    *,
    engine: str = "auto",
    precision: str = "auto",
    workers: int | None = None,
    threads: int | None = None,
    shortlist: bool = False,
    allow_pickle: bool = False,
    allow_nonfinite: bool = False,
) -> Model:
    """The model of a run folder, of a published folder, of a short name (bundle/named.py) or of a
    name of the hub like "owner/name".

    `engine` is auto, torch or ctranslate2, `precision` auto, fp32, bf16 or int8: they are for
    translations (engines/engines.py); `embed` has auto, fp32, int16 and bf16. A published folder
    may be allowed to hold its weights in .bin or .pt files, read as plain tensors, or NaN and
    infinity among them.
    """
    request = EngineRequest(engine, precision, workers, threads, shortlist)
    if Path(path).is_file():
        raise MisuseError(
            f"{path}: is a file, expected the folder of a run or of a published model; `regard "
            f"doctor {path}` says what it holds and whether it can be converted"
        )
    bundle = open_bundle(path, allow_pickle=allow_pickle)
    model = Model(bundle, device, request, allow_nonfinite)
    _ = bundle.tokenizer, bundle.settings, model.transformer  # what is wrong is said now
    return model
