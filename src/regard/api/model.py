"""One model for every folder: `regard.load("runs/demo").translate("How are you?")`.

Each method takes one text or several and gives back the same shape. What a model cannot do is an
error that lists what it can. Importing this imports no torch: each task brings what it needs when
it is first asked for.
"""

# A text is an iterable of texts too, as mypy sees it; the overload for one text is the one meant.
# mypy: disable-error-code="overload-overlap"

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from regard.answer.answers import Answers
from regard.answer.score import Scored, score_texts
from regard.answer.translate import Translation
from regard.api.options import (
    EvaluateOptions,
    SearchOptions,
    TranslateOptions,
    completes,
)
from regard.api.pictures import WithPictures
from regard.api.shapes import many, paired, shaped
from regard.bundle.bundle import AnyTokenizer
from regard.bundle.words_seen import WordsSeen

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float
    from numpy.typing import NDArray
    from torch import Tensor

    from regard.answer.fill import Candidate
    from regard.answer.labels import Label
    from regard.answer.tag import Tag
    from regard.api.evaluation import AnyScores
    from regard.convert.convert import Conversion, To
    from regard.explain.account import Account
    from regard.explain.heads import Attentions

Advance = Callable[[int], None]  # spelled out here, and so in docs/reference/python.md
ManyTexts = Iterable[str]


class Model(WithPictures):
    """A model with the tasks that it offers: `tasks` lists them."""

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.bundle.path

    @property
    def tokenizer(self) -> AnyTokenizer | None:
        """Text ↔ ids; None where the folder has no files for it."""
        return self.bundle.tokenizer

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its classes, where it has any."""
        return tuple(self.bundle.labels.names) if self.spec.classes else ()

    def __repr__(self) -> str:
        name = self.bundle.name or str(self.folder)
        return f"<regard.Model {name!r}: {', '.join([*self.tasks, 'logits'])}>"

    def __dir__(self) -> list[str]:
        """What this model offers; the methods for what it does not are left out."""
        return sorted(name for name in super().__dir__() if self._offers(name))

    def _offers(self, name: str) -> bool:
        needed = NEEDS.get(name, ())
        return not needed or any(task in self.tasks for task in needed)

    @overload
    def translate(self, texts: str, **options: Unpack[TranslateOptions]) -> str: ...
    @overload
    def translate(self, texts: ManyTexts, **options: Unpack[TranslateOptions]) -> list[str]: ...
    @completes(TranslateOptions)
    def translate(
        self, texts: str | ManyTexts, **options: Unpack[TranslateOptions]
    ) -> str | list[str]:
        """The best translation of a text, or of each of several."""
        return self._best("translate", texts, dict(options))

    @overload
    def generate(self, texts: str, **options: Unpack[SearchOptions]) -> str: ...
    @overload
    def generate(self, texts: ManyTexts, **options: Unpack[SearchOptions]) -> list[str]: ...
    @completes(SearchOptions)
    def generate(self, texts: str | ManyTexts, **options: Unpack[SearchOptions]) -> str | list[str]:
        """What the model makes of a text, or of each of several."""
        return self._best("generate", texts, dict(options))

    def _best(self, task: str, texts: str | ManyTexts, options: dict[str, Any]) -> str | list[str]:
        def answer(listed: list[str]) -> list[str]:
            return [answers.best.text for answers in self._outputs(task, listed, options)]

        return shaped(texts, task, answer)

    @overload
    def translations(
        self, texts: str, **options: Unpack[TranslateOptions]
    ) -> Answers[Translation]: ...
    @overload
    def translations(
        self, texts: ManyTexts, **options: Unpack[TranslateOptions]
    ) -> list[Answers[Translation]]: ...
    @completes(TranslateOptions)
    def translations(
        self, texts: str | ManyTexts, **options: Unpack[TranslateOptions]
    ) -> Answers[Translation] | list[Answers[Translation]]:
        """The `n_best` outputs for a text with their scores: of `translate`, or of `generate` where
        the model offers that."""
        task = "generate" if "generate" in self.tasks else "translate"
        return shaped(texts, task, lambda listed: self._outputs(task, listed, dict(options)))

    def _outputs(
        self, task: str, texts: list[str], options: dict[str, Any]
    ) -> list[Answers[Translation]]:
        self.demand(task)
        whole = {"split": False} if task == "generate" else {}  # what it reads is no paragraph
        answers = self.translator.translations(texts, task, **(whole | options))
        return [Answers(row) for row in answers]

    @overload
    def score(self, sources: str, targets: str) -> Scored: ...
    @overload
    def score(self, sources: str | ManyTexts, targets: str | ManyTexts) -> list[Scored]: ...
    def score(self, sources: str | ManyTexts, targets: str | ManyTexts) -> Scored | list[Scored]:
        """How likely the model finds a target as the output for its source, token by token."""
        one, other = paired(sources, targets, "score")
        rows = score_texts(self.translator, self.engines.take_to_score(), one, other)
        return rows[0] if isinstance(sources, str) and isinstance(targets, str) else rows

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that the model was never trained on, where its run keeps a list."""
        seen = WordsSeen.of_run(self.folder / "data")
        return [] if seen is None else seen.new_in(text)

    @overload
    def fill(self, texts: str, *, top: int = 5) -> "list[Answers[Candidate]]": ...
    @overload
    def fill(self, texts: ManyTexts, *, top: int = 5) -> "list[list[Answers[Candidate]]]": ...
    def fill(
        self, texts: str | ManyTexts, *, top: int = 5
    ) -> "list[Answers[Candidate]] | list[list[Answers[Candidate]]]":
        """For each [MASK] of a text, the likeliest words with probabilities."""
        from regard.answer.fill import fill_text  # imports torch

        rows = [[Answers(r) for r in fill_text(self, text, top)] for text in many(texts, "fill")]
        return rows[0] if isinstance(texts, str) else rows

    @overload
    def classify(
        self, texts: str, *, pair: str | None = None, top: int | None = None, cut: bool = False
    ) -> "Answers[Label]": ...
    @overload
    def classify(
        self,
        texts: ManyTexts,
        *,
        pair: str | ManyTexts | None = None,
        top: int | None = None,
        cut: bool = False,
    ) -> "list[Answers[Label]]": ...
    def classify(
        self,
        texts: str | ManyTexts,
        *,
        pair: str | ManyTexts | None = None,
        top: int | None = None,
        cut: bool = False,
    ) -> "Answers[Label] | list[Answers[Label]]":
        """The labels of a text, likeliest first; of each token where the head is such.

        `pair` is the second text, where the model compares two; `top` keeps so many labels. A text
        that is too long is refused, or with `cut` read as far as the model reads.
        """
        from regard.answer.classify import classify_texts  # imports torch

        listed = many(texts, "classify")
        pairs: Sequence[str | None] = [None] * len(listed)
        if pair is not None:
            listed, pairs = paired(texts if isinstance(texts, str) else listed, pair, "classify")
        answers = classify_texts(self, listed, pairs, top, cut)
        return answers[0] if isinstance(texts, str) else answers

    @overload
    def tag(self, texts: str, *, cut: bool = False) -> "Answers[Tag]": ...
    @overload
    def tag(
        self, texts: Iterable[str | Sequence[str]], *, cut: bool = False
    ) -> "list[Answers[Tag]]": ...
    def tag(
        self, texts: str | Iterable[str | Sequence[str]], *, cut: bool = False
    ) -> "Answers[Tag] | list[Answers[Tag]]":
        """The tag of each word of a text; a text among several may be a list of its words.

        A text that is too long is refused, or with `cut` tagged as far as the model reads.
        """
        from regard.answer.tag import tag_texts  # imports torch

        rows = tag_texts(self, [texts] if isinstance(texts, str) else list(texts), cut)
        return rows[0] if isinstance(texts, str) else rows

    def embed(
        self, texts: str | ManyTexts, *, advance: Advance | None = None
    ) -> "NDArray[np.float32]":
        """A vector for a text (D,), or one for each of several (n, D), pooled as the folder says.

        `advance` is told how many more texts are done, for a progress bar."""
        vectors = self.embedder(many(texts, "embed"), advance)
        return vectors[0] if isinstance(texts, str) else vectors

    @overload
    def similar(self, first: str, second: str, *, advance: Advance | None = None) -> float: ...
    @overload
    def similar(
        self, first: str | ManyTexts, second: str | ManyTexts, *, advance: Advance | None = None
    ) -> "Float[np.ndarray, ' n']": ...
    def similar(
        self, first: str | ManyTexts, second: str | ManyTexts, *, advance: Advance | None = None
    ) -> "float | Float[np.ndarray, ' n']":
        """The cosine of two texts' vectors, of each pair of two lists, or of one with each."""
        from regard.answer.similar import compare  # imports numpy

        cosines = compare(
            lambda texts: self.embed(texts, advance=advance), *paired(first, second, "similar")
        )
        one = isinstance(first, str) and isinstance(second, str)
        return float(cosines[0]) if one else cosines

    @property
    def vector_size(self) -> int:
        """How many numbers a vector of `embed` has."""
        return self.embedder.size

    def explain(
        self,
        texts: str | ManyTexts,
        *,
        answer: str | None = None,
        words: bool | None = None,
        word: str | None = None,
        pieces: bool = False,
        pair: str | None = None,
        match: str | None = None,
        label: str | None = None,
        steps: int | None = None,
        max_tokens: int | None = None,
    ) -> "Attentions | Account | list[Attentions | Account]":
        """What an answer rests on: the attention of the pass, or with `words` what each word adds.

        `words` is the view of a label, of a continuation and of the answer to a question (of which
        `pair` is the context) unless it is False. `answer` is
        explained instead of the model's own output, `word` one word of it; `pieces` shows sub-words
        of attention. The others are those of `regard explain`.
        """
        from regard.explain.encoder import (  # imports torch
            explain_label,
            explain_match,
            explain_span,
        )
        from regard.explain.heads import attend  # imports torch
        from regard.explain.outputs import explain_output  # imports torch

        spec = self.spec
        usual = "complete" in self.tasks or (
            spec.head in ("classes", "spans") and not spec.image_size
        )
        accounts = usual or match is not None if words is None else words

        def one(text: str) -> "Attentions | Account":
            if match is not None:
                return explain_match(self, text, match, steps)[0]
            if not accounts:
                return attend(self, text, answer, pieces, pair, max_tokens)
            if spec.decoder_layers:
                return explain_output(self, text, answer, word, steps, max_tokens)
            if spec.head == "spans":
                return explain_span(self, text, pair, steps)
            return explain_label(self, text, pair, label, steps)

        return shaped(texts, "explain", lambda listed: [one(text) for text in listed])

    @completes(EvaluateOptions)
    def evaluate(self, data: object = None, **options: Unpack[EvaluateOptions]) -> "AnyScores":
        """How good it is: on its own held-out texts, or on data (api/evaluation.py says how)."""
        from regard.api.evaluation import evaluate  # imports sacrebleu

        return evaluate(self, data, **options)

    def save(self, folder: str | Path, to: "To" = "native") -> "Conversion":
        """Write it as a new folder: regard's own files, "hf", "ctranslate2", or a file: "gguf".

        With a model card, README.md, that says what the run knows: data, recipe, scores.
        """
        from regard.convert.convert import convert  # imports torch

        allow, name = self.bundle.allow_pickle, Path(folder).name
        return convert(self.folder, Path(folder), to, allow_pickle=allow, card=name)

    def push_to_hub(
        self,
        name: str,
        *,
        to: "To | None" = None,
        private: bool = True,
        token: str | None = None,
        message: str = "A model by regard",
    ) -> str:
        """Hand it on: a repository "owner/name" of the hub with its files and card; its address.

        Without `to` the files are those of transformers where a family of it can say all that the
        model is, else regard's own. `token` is that of `hf auth login` unless given; the variable
        HF_ENDPOINT names another hub.
        """
        from regard.convert.push import push  # imports torch

        return push(self.bundle, name, to, private, token, message)

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


# What only some models offer, and the tasks of which one is needed for it.
_MAKES_TEXT = ("translate", "generate")
NEEDS = {
    "translate": ("translate",),
    "generate": ("generate",),
    "translations": _MAKES_TEXT,
    "score": _MAKES_TEXT,
    "unknown_words": ("translate", "draw"),
    "complete": ("complete",),
    "completions": ("complete",),
    "stream": ("complete",),
    "chat": ("complete",),
    "fill": ("fill",),
    "summarize": ("translate", "generate", "complete", "embed"),
    "summaries": ("translate", "generate", "complete", "embed"),
    "classify": ("classify",),
    "tag": ("tag",),
    "parse": ("parse",),
    "draw": ("draw",),
    "answer": ("answer", "generate", "complete"),
    "see": ("see",),
    "caption": ("caption",),
    "embed": ("embed",),
    "similar": ("embed",),
    "vector_size": ("embed",),
    "explain": ("translate", "generate", "complete", "classify", "tag", "fill", "answer", "embed"),
    "evaluate": (
        *(*_MAKES_TEXT, "classify", "tag", "fill", "complete", "answer", "embed"),
        *("see", "caption", "parse", "draw"),
    ),
    "labels": ("classify", "tag", "see"),
}
