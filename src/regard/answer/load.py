"""A folder → a model to use: `regard.load("runs/demo").translate("How are you?")`.

The folder is a run of ours, or a published model (config.json); or it is a name of the hub.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, overload

import torch
from jaxtyping import Float
from torch import Tensor

from regard.answer.logits import raw_logits
from regard.answer.published import Published, open_published
from regard.answer.score import Scored, score_texts
from regard.answer.translate import Translation, Translator
from regard.bundle.encoder_file import read_encoder_file
from regard.bundle.generation_settings import Settings
from regard.bundle.home import best_step, home_of_run, parts_of_run, run_named
from regard.bundle.named import folder_of
from regard.bundle.open_run import open_run
from regard.bundle.words_seen import WordsSeen
from regard.checkpoint.families.own import OWN
from regard.checkpoint.files import is_published, read_json, sha256, steps_saved
from regard.checkpoint.guard import read_tensors
from regard.checkpoint.native import load_weights
from regard.checkpoint.published import FAMILIES
from regard.config import build
from regard.decode.hypothesis import Search
from regard.engines.engines import Asked, Engines
from regard.errors import CheckpointError, DamageError, MisuseError
from regard.model.device import choose_device
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.runs.folder import Run, typed
from regard.runs.objectives import objective_of
from regard.text.published import load_tokenizer
from regard.text.tokenizer import Tokenizer

TORCH = Asked("torch")


def _refused(task: str) -> Callable[..., NoReturn]:
    """A task of published models that no run has: an error that names those it has."""

    def refuse(self: "Model", *given: object, **options: object) -> NoReturn:
        raise self.refusal(task)

    return refuse


@dataclass(frozen=True)
class Model:
    """A trained model with its tokenizer and its default search."""

    transformer: Transformer
    tokenizer: Tokenizer
    search: Search
    run: Run
    asked: Asked = TORCH

    @overload
    def translate(self, text: str, **options: Any) -> str: ...
    @overload
    def translate(self, text: list[str], **options: Any) -> list[str]: ...
    def translate(self, text: str | list[str], **options: Any) -> str | list[str]:
        """The best translation of a text, or of each of a list.

        Options are the fields of `Search` (beam, n_best, alpha, max_length, temperature, …) and of
        `Reading` (split, language, prefix).
        """
        texts = [text] if isinstance(text, str) else list(text)
        answers = [best[0].text for best in self.translations(texts, **options)]
        return answers[0] if isinstance(text, str) else answers

    def translations(self, texts: list[str], **options: Any) -> list[list[Translation]]:
        """The `n_best` translations of each text, with scores."""
        return self.translator.translations(texts, **options)

    def score(self, sources: str | list[str], targets: str | list[str]) -> list[Scored]:
        """How likely the model finds each target as the translation of its source."""
        return score_texts(self.translator, self.engines.take_to_score(), sources, targets)

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that the model was never trained on, where its run keeps a list."""
        seen = WordsSeen.of_run(self.run.data)
        return [] if seen is None else seen.new_in(text)

    @cached_property
    def engines(self) -> Engines:
        """The engines that translate; opened when they are first used."""
        device = next(self.transformer.parameters()).device.type
        parts = (self.transformer.spec, self.tokenizer, self.search)
        home = home_of_run(self.run, *parts, lambda: self.transformer, device)
        return Engines(home, self.asked)

    @cached_property
    def translator(self) -> Translator:
        """Text in, text out, with these engines."""
        home = self.engines.home
        return Translator(home.codec, self.search, home.limit, self.engines.take)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that this model offers."""
        return ("translate",)

    def logits(
        self, ids: Any = None, mask: Any = None, target: Any = None, pixels: Any = None
    ) -> Float[Tensor, "B L V"]:
        """The raw logits of a batch of ids and of target ids, as `Published.logits` gives them."""
        return raw_logits(self.transformer, ids, mask, target, pixels)

    complete, stream, fill = _refused("complete"), _refused("complete"), _refused("fill")
    generate, embed = _refused("generate"), _refused("embed")
    classify, see, tag = _refused("classify"), _refused("see"), _refused("tag")

    def demand(self, task: str) -> None:
        """Insist that the model offers a task."""
        if task not in self.tasks:
            raise self.refusal(task)

    def refusal(self, task: str) -> MisuseError:
        """The error that says what the model offers instead."""
        return MisuseError(
            f"{task}: {self.run.folder} (a run of regard) does not offer it; "
            "it offers translate, logits"
        )


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
) -> Model | Published:
    """The model of a run folder, of a published folder, of a short name (bundle/named.py) or of a
    name of the hub like "owner/name".

    `engine` is auto, torch or ctranslate2, `precision` auto, fp32, bf16 or int8: they are for
    translations (engines/engines.py); `embed` has auto, fp32, int16 and bf16. A published folder
    may be allowed to hold its weights in .bin or .pt files, read as plain tensors, or NaN and
    infinity among them.
    """
    asked = Asked(engine, precision, workers, threads, shortlist)
    folder = folder_of(path, allow_pickle)
    if folder.is_file():
        raise MisuseError(
            f"{folder}: is a file, expected the folder of a run or of a published model; `regard "
            f"doctor {folder}` says what it holds and whether it can be converted"
        )
    if is_published(folder) and not Run(folder).info.is_file():
        return open_published(
            folder,
            device,
            asked=asked,
            name=str(path),
            allow_pickle=allow_pickle,
            allow_nonfinite=allow_nonfinite,
        )
    if Run(folder).info.is_file() and objective_of(Run(folder)).model == "encoder":
        return load_encoder(Run(folder), device, asked)
    return load_run(folder, device, asked)


def load_encoder(run: Run, device: str = "auto", asked: Asked = TORCH) -> Published:
    """The model of a run that trained an encoder, with the tasks of a published one."""
    run = open_run(run.folder)
    spec = build(Spec, read_json(run.spec), str(run.spec))
    transformer = Transformer(spec, seed=None)
    load_into(transformer, _weights(run, transformer))
    transformer.to(choose_device(device)).eval()
    family = FAMILIES.get(read_encoder_file(run.folder).family, OWN)
    tokenizer = load_tokenizer(run.folder)
    return Published(run.folder, family, transformer, tokenizer, Settings(), asked)


def load_run(path: str | Path, device: str = "auto", asked: Asked = TORCH) -> Model:
    """The model of a run folder: its final weights, or the best checkpoint so far."""
    run = run_named(path)
    spec, tokenizer, search = parts_of_run(run)
    transformer = Transformer(spec, seed=None)
    load_into(transformer, _weights(run, transformer))
    transformer.to(choose_device(device)).eval()
    return Model(transformer, tokenizer, search, run, asked)


def _weights(run: Run, transformer: Transformer) -> dict[str, Tensor]:
    expected = dict(transformer.named_parameters())
    step = best_step(run)
    if step is not None:
        return _of_checkpoint(run, step, expected)
    return _final(run, expected)


def _final(run: Run, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    if sha256(run.weights) != read_json(run.weights_info).get("sha256"):
        again = (
            f"`regard train --resume {typed(run.folder)}` makes it again from the checkpoints, or "
            if steps_saved(run.checkpoints)
            else ""
        )
        raise CheckpointError(
            f"{run.weights}: differs from its checksum; {again}copy the run again"
        )
    return read_tensors(run.weights, expected)


def _of_checkpoint(run: Run, step: int, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A checkpoint's weights; if it is damaged, those of the newest whole one, with a warning."""
    for other in [step, *sorted({*steps_saved(run.checkpoints)} - {step}, reverse=True)]:
        try:
            weights = load_weights(run.checkpoints, other, expected)
        except DamageError as error:
            print(f"Warning: {error}; this checkpoint is not used.", file=sys.stderr)
            continue
        if other != step:
            print(f"Warning: using the checkpoint of step {other:,} instead.", file=sys.stderr)
        return weights
    if run.weights.is_file() and run.weights_info.is_file():  # it had ended, and went on
        print("Warning: using the final weights of before instead.", file=sys.stderr)
        return _final(run, expected)
    raise CheckpointError(f"{run.checkpoints}: no checkpoint is whole; copy the run again")


@torch.no_grad()
def load_into(transformer: Transformer, weights: dict[str, Tensor]) -> None:
    """Copy named weights into a model."""
    for name, parameter in transformer.named_parameters():
        parameter.copy_(weights[name])
