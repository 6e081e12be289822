"""A published folder as a model with the tasks that its family and its head offer.

encoder, words        fill, embed            BERT, DistilBERT
encoder, classifier   classify, embed
encoder, word labels  tag, classify, embed
encoder, no head      embed                  sentence encoders too
images, classifier    see                    ViT
decoder               complete               GPT-2, Llama
encoder and decoder   generate, translate    T5 and FLAN-T5, Marian
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.answer.classify import class_probabilities, classify_text
from regard.answer.complete import stream_text
from regard.answer.embed import Advance, Embedder
from regard.answer.fill import Candidate, fill_text
from regard.answer.generate import generate_texts
from regard.answer.logits import raw_logits
from regard.answer.score import Scored, score_texts
from regard.answer.see import see_file
from regard.answer.similar import compare
from regard.answer.tag import Tag, tag_one, tag_rows, words_of
from regard.answer.translate import Translation, Translator
from regard.bundle.encoder_file import tokens_seen
from regard.bundle.generation_settings import Settings, read_settings
from regard.bundle.home import Home, home_of_published
from regard.bundle.labels import Label, Labels, read_labels
from regard.bundle.pixels import read_preparation
from regard.bundle.pooling import read_layout
from regard.checkpoint.converted import is_converted, load_converted
from regard.checkpoint.families.family import Family
from regard.checkpoint.published import family_of, load_published, read_config
from regard.decode.hypothesis import Search
from regard.decode.sample import Sampling
from regard.engines.engines import Asked, Engines
from regard.errors import CheckpointError, DataError, MisuseError, nearest
from regard.model.device import choose_device
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.text.published import PublishedTokenizer, load_tokenizer

TRANSLATES = ("marian",)  # the families whose one task is translation


def tasks_of(family: str, spec: Spec) -> tuple[str, ...]:
    """What a model of this family with this head can be asked for, beside its logits."""
    if spec.image_size:
        return ("see",) if spec.head == "classes" else ()
    if spec.decoder_layers:
        made = "complete" if not spec.encoder_layers else "generate"
        made = "translate" if family in TRANSLATES else made
        return (made,) if spec.head == "tokens" else ()
    by_head = {"tokens": ("fill",), "classes": ("classify",), "labels": ("tag", "classify")}
    return (*by_head.get(spec.head, ()), "embed")


@dataclass(frozen=True)
class Published:
    """A model from a published folder; `tokenizer` is None where the folder has no files for it."""

    folder: Path
    family: Family
    transformer: Transformer
    tokenizer: PublishedTokenizer | None
    settings: Settings
    asked: Asked = Asked()
    name: str = ""  # as a person typed it; "": the folder says it

    @property
    def spec(self) -> Spec:
        """The model's spec."""
        return self.transformer.spec

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that this model offers."""
        return tasks_of(self.family.name, self.spec)

    @property
    def search(self) -> Search:
        """How text is searched for unless asked otherwise."""
        return self.settings.search

    def logits(
        self,
        ids: Any = None,
        mask: Any = None,
        target: Any = None,
        pixels: Any = None,
        segments: Any = None,
    ) -> Float[Tensor, "B *L V"]:
        """The raw logits of a batch: ids, or pixels, and target ids for an encoder–decoder model.

        Lists of ids or tensors; one row may be given without its batch. `mask` is true (1) where a
        token is real; padding may stand on either side of a decoder-only model's text.
        """
        return raw_logits(self.transformer, ids, mask, target, pixels, segments)

    def complete(self, prompt: str, **options: Any) -> str:
        """What follows the prompt. Options: temperature (0: greedy), top_k, top_p, seed,
        max_tokens."""
        return "".join(self.stream(prompt, **options))

    def stream(self, prompt: str, **options: Any) -> Iterator[str]:
        """The completion piece by piece, each as soon as it is made."""
        tokenizer = self.text_task("complete")
        known = vars(Sampling())
        for name in options:
            if name not in known:
                raise MisuseError(f"complete: unknown option {name!r}{nearest(name, known)}")
        sampling = Sampling(**options)
        return stream_text(self.transformer, tokenizer, self.settings, prompt, sampling)

    def fill(self, text: str, top: int = 5) -> list[list[Candidate]]:
        """For each [MASK] of the text, the likeliest words with probabilities."""
        return fill_text(self.transformer, self.text_task("fill"), text, top)

    @overload
    def generate(self, text: str, **options: Any) -> str: ...
    @overload
    def generate(self, text: list[str], **options: Any) -> list[str]: ...
    def generate(self, text: str | list[str], **options: Any) -> str | list[str]:
        """What the model makes of a text, or of each of a list. Options: the fields of `Search`,
        and prefix."""
        return self._best("generate", text, options)

    @overload
    def translate(self, text: str, **options: Any) -> str: ...
    @overload
    def translate(self, text: list[str], **options: Any) -> list[str]: ...
    def translate(self, text: str | list[str], **options: Any) -> str | list[str]:
        """The best translation of a text, or of each of a list. Options: the fields of `Search`
        and of `Reading` (split, language, prefix)."""
        return self._best("translate", text, options)

    def translations(self, texts: list[str], **options: Any) -> list[list[Translation]]:
        """The `n_best` translations of each text, with scores."""
        return self.outputs("translate", texts, **options)

    def outputs(self, task: str, texts: list[str], **options: Any) -> list[list[Translation]]:
        """The `n_best` outputs of `generate` or `translate` for each text, with scores."""
        self.text_task(task)
        if task == "generate":
            return generate_texts(self.translator, texts, **options)
        return self.translator.translations(texts, task, **options)

    def score(self, sources: str | list[str], targets: str | list[str]) -> list[Scored]:
        """How likely the model finds each target as the output for its source."""
        return score_texts(self.translator, self.engines.take_to_score(), sources, targets)

    def home(self, task: str) -> Home:
        """What its engines are made from."""
        tokenizer = self.text_task(task)
        device = next(self.transformer.parameters()).device.type
        model = self.transformer
        return home_of_published(
            self.folder, tokenizer, self.settings, self.spec, lambda: model, device
        )

    @cached_property
    def engines(self) -> Engines:
        """The engines that translate; T5's tasks are done by torch."""
        asked = self.asked if "translate" in self.tasks else Asked("torch")
        return Engines(self.home(next(iter(self.tasks), "translate")), asked)

    @cached_property
    def translator(self) -> Translator:
        """Text in, text out, with these engines."""
        home = self.engines.home
        return Translator(home.codec, self.search, home.limit, self.engines.take)

    def _best(self, task: str, text: str | list[str], options: dict[str, Any]) -> str | list[str]:
        texts = [text] if isinstance(text, str) else list(text)
        answers = [best[0].text for best in self.outputs(task, texts, **options)]
        return answers[0] if isinstance(text, str) else answers

    def embed(
        self, texts: str | Sequence[str], advance: Advance | None = None
    ) -> NDArray[np.float32]:
        """A vector for a text (D,), or one for each of a list (n, D), pooled as the folder says.

        `advance` is told how many more texts are done, for a progress bar."""
        self.text_task("embed")
        if not self.embedder.is_current:  # the weights were changed, by training for example
            vars(self).pop("embedder")
        vectors = self.embedder([texts] if isinstance(texts, str) else list(texts), advance)
        return vectors[0] if isinstance(texts, str) else vectors

    @overload
    def similar(self, first: str, second: str, advance: Advance | None = None) -> float: ...
    @overload
    def similar(
        self, first: list[str], second: list[str], advance: Advance | None = None
    ) -> Float[np.ndarray, " n"]: ...
    def similar(
        self, first: str | list[str], second: str | list[str], advance: Advance | None = None
    ) -> float | Float[np.ndarray, " n"]:
        """The cosine of two texts' vectors, or of each pair of two lists."""
        if isinstance(first, str) and isinstance(second, str):
            return float(compare(self.embed, [first], [second])[0])
        if isinstance(first, str) or isinstance(second, str):
            raise MisuseError("similar: got a text and a list, expected two texts or two lists")
        return compare(lambda texts: self.embed(texts, advance), first, second)

    @property
    def vector_size(self) -> int:
        """How many numbers a vector of `embed` has."""
        self.text_task("embed")
        return self.embedder.size

    @cached_property
    def embedder(self) -> Embedder:
        """What makes the vectors; its weights are prepared when it is first used."""
        tokenizer = self.text_task("embed")
        layout = read_layout(self.folder)
        return Embedder(self.transformer, tokenizer, layout, self.asked.precision)

    def classify(self, text: str, pair: str | None = None, top: int | None = None) -> list[Label]:
        """The labels of a text or a pair, likeliest first; of each token where the head is such."""
        tokenizer = self.text_task("classify")
        return classify_text(self.transformer, tokenizer, self._labels, text, pair, top)

    def classify_all(
        self,
        texts: Sequence[str | tuple[str, str | None]],
        advance: Callable[[int], None] = lambda count: None,
    ) -> tuple[Labels, Float[np.ndarray, "n C"], int]:
        """The labels, the probability of each for each text (or pair), and how many were cut.

        A text that is too long for the model is cut, as it was in training.
        """
        tokenizer = self.text_task("classify")
        labels = self._labels
        rows = [(text, None) if isinstance(text, str) else text for text in texts]
        limit = self.reads(tokenizer)
        found = class_probabilities(self.transformer, tokenizer, labels, rows, limit, advance)
        return labels, *found

    def tag(self, text: str | Sequence[str]) -> list[Tag]:
        """The tag of each word of a text; a list is taken as words."""
        tokenizer = self.text_task("tag")
        return tag_one(self.transformer, tokenizer, self._labels, text, self.reads(tokenizer))

    def tag_all(
        self,
        texts: Sequence[str | Sequence[str]],
        advance: Callable[[int], None] = lambda count: None,
    ) -> list[list[Tag | None]]:
        """The tags of many texts (or lists of words); None for a word beyond what is read."""
        tokenizer = self.text_task("tag")
        rows = [words_of(text) for text in texts]
        limit = self.reads(tokenizer)
        return tag_rows(self.transformer, tokenizer, self._labels, rows, limit, advance)

    @property
    def _labels(self) -> Labels:
        return read_labels(self.folder, self.spec.classes)

    def reads(self, tokenizer: PublishedTokenizer) -> int | None:
        """The most tokens of a text that it reads; None: there is no end."""
        known = (tokens_seen(self.folder), self.spec.position_limit, tokenizer.max_length)
        return min((most for most in known if most is not None), default=None)

    def see(self, file: str | Path, top: int | None = None) -> list[Label]:
        """The labels of an image file, likeliest first."""
        self.demand("see")
        preparation = read_preparation(self.folder, self.spec)
        return see_file(self.transformer, self._labels, preparation, Path(file), top)

    def demand(self, task: str) -> None:
        """Insist that the model offers a task."""
        if task not in self.tasks:
            offered = ", ".join([*self.tasks, "logits"])
            kind = f"{self.name or self.folder} ({self.family.name} with head {self.spec.head!r})"
            raise MisuseError(f"{task}: {kind} does not offer it; it offers {offered}")

    def text_task(self, task: str) -> PublishedTokenizer:
        """The tokenizer, for a task that the model must offer."""
        self.demand(task)
        if self.tokenizer is None:
            raise DataError(
                f"{task}: {self.name or self.folder} has no tokenizer files, so text cannot become "
                "ids; add tokenizer.json, vocab.txt, vocab.json with merges.txt, or a "
                "SentencePiece model; `logits` works without"
            )
        return self.tokenizer


def open_published(
    folder: Path,
    device: str = "auto",
    *,
    asked: Asked | None = None,
    name: str = "",
    allow_pickle: bool = False,
    allow_nonfinite: bool = False,
) -> Published:
    """The model of a published folder, ready to use; what is allowed, `load_published` says."""
    chosen = choose_device(device)
    family = family_of(read_config(folder))
    if is_converted(folder):
        transformer = load_converted(folder)
    else:
        transformer = load_published(
            folder, allow_pickle=allow_pickle, allow_nonfinite=allow_nonfinite
        )
    transformer.to(chosen).eval()
    vocabulary = transformer.spec.vocabulary
    settings = read_settings(folder, vocabulary) if vocabulary else Settings()
    tokenizer = load_tokenizer(folder) if vocabulary else None
    if tokenizer is not None and tokenizer.size > vocabulary:
        raise CheckpointError(
            f"{folder}: the tokenizer knows {tokenizer.size} tokens, the weights {vocabulary}; its "
            "files belong to another model"
        )
    return Published(folder, family, transformer, tokenizer, settings, asked or Asked(), name)
