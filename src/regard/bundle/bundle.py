"""What a model's folder is, told by its small files: the one place that asks.

    run         what `regard train` makes: run.json, recipe.json, spec.json, tokenizer
    published   config.json and weights, as the libraries of the field write them
    converted   the same with regard.json: `regard convert --to native`
    llama2.c    a single file, which says enough about itself to be a model
    gguf        the same with its tokenizer: llama.cpp's format

A translation by the ctranslate2 engine needs no more than this, so nothing here imports torch; only
the spec of a published folder does, which the headers of its weights decide.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.bundle.codec import Codec, own_codec, published_codec
from regard.bundle.encoder_file import EncoderFile, read_encoder_file
from regard.bundle.engine_choice import Choice, ProbePair, probe_of, read_choice
from regard.bundle.generation_settings import GenerationSettings, read_settings, settings_of
from regard.bundle.labels import Labels, read_labels
from regard.bundle.named import folder_of
from regard.bundle.open_run import open_run
from regard.bundle.picture_codec import PictureCodec, read_picture_codec
from regard.bundle.pixels import Preparation, read_preparation
from regard.bundle.pooling import Pooling, read_pooling
from regard.bundle.tree_codec import TreeCodec, read_tree_codec
from regard.checkpoint.ctranslate2_info import refuse_ctranslate2
from regard.checkpoint.files import (
    folder_name,
    is_converted,
    is_published,
    read_config_file,
    read_own_json,
    steps_saved,
)
from regard.checksums import check
from regard.config import build
from regard.decode.options import DecodingOptions
from regard.errors import CheckpointError, DataError, MisuseError
from regard.model.spec import Spec
from regard.printable import to_log
from regard.runs.folder import RunFolder, typed
from regard.runs.objectives import Objective, objective_of
from regard.text.published import PublishedTokenizer, load_tokenizer
from regard.text.published_gguf import GgufVocabulary, read_vocabulary
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.checkpoint.families.family import Family
    from regard.checkpoint.gguf import CheckedGguf
    from regard.checkpoint.published import CheckedFolder

AnyTokenizer = Tokenizer | PublishedTokenizer


@dataclass(frozen=True)
class Bundle:
    """A model before its weights are read; each part is read when it is first asked for."""

    kind: str  # run, published, converted, llama2.c, gguf
    path: Path  # the folder, or the file of llama2.c or GGUF
    name: str = ""  # as a person typed it; "": the path says it
    allow_pickle: bool = False
    strict: bool = False  # whether keys of config.json that nobody knows are refused

    @property
    def is_run(self) -> bool:
        """Whether `regard train` made it."""
        return self.kind == "run"

    @property
    def run(self) -> RunFolder:
        """Its paths, for commands that read runs only."""
        if not self.is_run:
            advice = "this command reads the run of a training, made by `regard train`"
            raise MisuseError(self.name or self.path, "a published model", advice=advice)
        return RunFolder(self.path)

    @cached_property
    def objective(self) -> Objective | None:
        """What a run was trained for; None for what others have trained."""
        return objective_of(self.run) if self.is_run else None

    @property
    def is_own_translator(self) -> bool:
        """Whether it is a run of an encoder and a decoder, with regard's own tokenizer."""
        return self.objective is not None and self.objective.own_tokenizer

    @cached_property
    def spec(self) -> Spec:
        """Everything in which it differs from other models."""
        if self.is_run:
            file = self.run.spec
            return build(Spec, read_own_json(file), str(file))
        if self.kind == "converted":
            from regard.checkpoint.converted import check_converted  # imports torch

            return check_converted(self.path)[0]
        if self.kind == "llama2.c":
            from regard.checkpoint.llama2c import read_spec  # imports torch

            return read_spec(self.path)
        return self.gguf.spec if self.kind == "gguf" else self._checked.spec

    @cached_property
    def family_name(self) -> str:
        """Of a run "regard", or that of the encoder it began with; where it is said, no torch."""
        if self.is_run:
            return "regard" if self.is_own_translator else self.encoder_file.family
        if self.kind in ("llama2.c", "gguf"):
            return "llama"
        # Of 2018 and 2019 few say it, and the weights tell.
        return str(self.config.get("model_type") or self.family.name)

    @cached_property
    def family(self) -> "Family":
        """How models like it are published, as data."""
        from regard.checkpoint.families.family import OWN  # imports torch
        from regard.checkpoint.published import FAMILIES, family_of, read_config  # imports torch

        unnamed = self.kind in ("published", "converted") and not self.config.get("model_type")
        if unnamed and self.kind == "published":
            return self._checked.family
        if not unnamed and self.family_name in FAMILIES:
            return FAMILIES[self.family_name]
        return OWN if self.is_run else family_of(read_config(self.path))  # an error that says why

    @cached_property
    def _checked(self) -> "CheckedFolder":
        """A published folder whose config and headers agree."""
        from regard.checkpoint.published import check_published  # imports torch

        return check_published(self.path, allow_pickle=self.allow_pickle, strict=self.strict)

    @cached_property
    def gguf(self) -> "CheckedGguf":
        """A GGUF file whose keys and tensors agree."""
        from regard.checkpoint.gguf import check_gguf  # imports torch

        return check_gguf(self.path)

    @cached_property
    def vocabulary_in_file(self) -> GgufVocabulary | None:
        """The tables of a GGUF file's tokenizer; None where it has none, and of other kinds."""
        return read_vocabulary(self.gguf.header.values, self.path) if self.kind == "gguf" else None

    @cached_property
    def config(self) -> dict[str, Any]:
        """What its config.json says; nothing where it has none."""
        if self.kind == "gguf":
            return self.gguf.config
        return read_config_file(self.path) if is_published(self.path) else {}

    @cached_property
    def encoder_file(self) -> EncoderFile:
        """What a run of an encoder says about itself."""
        return read_encoder_file(self.path)

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """What it can be asked for, beside its logits."""
        if self.objective is not None:
            return self.objective.offers
        return self.family.tasks(self.spec)

    def demand(self, task: str) -> None:
        """Insist that it offers a task; a stored choice of engine was made for one."""
        if self.choice is not None and task == self.choice.task:
            return
        if task not in self.tasks:
            offered = ", ".join([*self.tasks, "logits"])
            raise MisuseError(task, f"{self} does not offer it", advice=f"it offers {offered}")

    def __str__(self) -> str:
        model = "a run of regard"
        if not self.is_run:
            model = f"{self.family_name} with head {self.spec.head!r}"
        return f"{self.name or self.path} ({model})"

    @cached_property
    def tokenizer(self) -> AnyTokenizer | None:
        """Text ↔ ids; None where it has no files for that."""
        if self.kind == "llama2.c" or (not self.is_run and not self.vocabulary):
            return None
        if self.kind == "gguf":
            return self.vocabulary_in_file.tokenizer() if self.vocabulary_in_file else None
        if self.is_own_translator:
            own = Tokenizer.load(self.run.tokenizer)
            if self.spec.vocabulary != own.size:
                problem = f"the tokenizer holds {own.size} pieces, the spec {self.spec.vocabulary}"
                advice = "one of the two files belongs to another run"
                raise CheckpointError(self.path, problem, advice=advice)
            return own
        tokenizer = load_tokenizer(self.path)
        if tokenizer is not None and tokenizer.size > self.vocabulary:
            problem = f"the tokenizer knows {tokenizer.size} tokens, the weights {self.vocabulary}"
            raise CheckpointError(self.path, problem, advice="its files belong to another model")
        return tokenizer

    def tokenizer_for(self, task: str) -> PublishedTokenizer:
        """That of an encoder or of what was published, for a task that must be offered."""
        self.demand(task)
        if not isinstance(self.tokenizer, PublishedTokenizer):
            raise self._without_tokenizer(task)
        return self.tokenizer

    @property
    def own_tokenizer(self) -> Tokenizer:
        """That of a run that translates."""
        if not isinstance(self.tokenizer, Tokenizer):
            raise MisuseError(self, expected="a run that translates, made by `regard train`")
        return self.tokenizer

    def _without_tokenizer(self, task: str) -> DataError:
        return DataError(
            f"{task}: {self.name or self.path} has no tokenizer files, so text cannot become ids; "
            "add tokenizer.json, vocab.txt, vocab.json with merges.txt, or a SentencePiece model; "
            "`logits` works without"
        )

    @cached_property
    def vocabulary(self) -> int:
        """How many rows its table of tokens has."""
        choice = self._choice_without_torch
        return self.spec.vocabulary if choice is None else choice.vocabulary

    @cached_property
    def settings(self) -> GenerationSettings:
        """How it wants its text made."""
        if self.is_own_translator or (self.is_run and {"parse", "draw"} & set(self.tasks)):
            return GenerationSettings(search=self._decode_section())
        if self.is_run and self.spec.encoder_layers and self.spec.decoder_layers:
            return self._settings_of_run()
        if self.is_run and isinstance(self.tokenizer, PublishedTokenizer):
            roles = self.tokenizer.roles
            ends = tuple(roles[role] for role in ("eos",) if role in roles)
            return GenerationSettings(ends=ends, pad=roles.get("pad"), bos=roles.get("bos"))
        if self.is_run or self.kind == "llama2.c" or not self.vocabulary:
            return GenerationSettings()
        if self.kind == "gguf":
            return settings_of(self.config, self.path, self.vocabulary)
        return read_settings(self.path, self.vocabulary)

    def _decode_section(self) -> DecodingOptions:
        """What the recipe of a run says about searching; how it was trained is not asked here."""
        file = self.run.recipe
        return build(DecodingOptions, read_own_json(file).get("decode", {}), f"{file}: [decode]")

    def _settings_of_run(self) -> GenerationSettings:
        """Of a text-to-text run: its own generation_config.json, searched as its recipe says."""
        told, recipe = read_settings(self.path, self.vocabulary), self._decode_section()
        return told if recipe == DecodingOptions() else replace(told, search=recipe)

    @cached_property
    def codec(self) -> Codec:
        """Text ↔ rows of ids as an engine wants them."""
        if isinstance(self.tokenizer, Tokenizer):
            return own_codec(self.tokenizer)
        if self.tokenizer is None:
            raise self._without_tokenizer("translate")
        return published_codec(self.tokenizer, self.settings)

    @cached_property
    def limit(self) -> int | None:
        """The most tokens of a sentence; relative and rotary positions have no end.

        Sinusoids have none either (`Spec.position_limit`), but no model was trained beyond
        `max_length`, and a line without a full stop must not exhaust the memory.
        """
        if self._choice_without_torch is not None:
            return self._choice_without_torch.limit
        spec = self.spec
        return None if spec.positions in ("relative", "rotary") else spec.max_length

    @cached_property
    def longest_text(self) -> int | None:
        """The most tokens of a text that an encoder reads; None: there is no end."""
        tokenizer = self.tokenizer
        limits = (
            self.encoder_file.limit if self.is_run else None,
            self.spec.position_limit,
            tokenizer.max_length if isinstance(tokenizer, PublishedTokenizer) else None,
        )
        return min((most for most in limits if most is not None), default=None)

    @cached_property
    def labels(self) -> Labels:
        """The names of its classes."""
        return read_labels(self.path, self.spec.classes)

    @cached_property
    def tree_codec(self) -> TreeCodec:
        """Sentences and trees ↔ ids, of a run that parses."""
        self.demand("parse")
        return read_tree_codec(self.path, self.spec.vocabulary)

    @cached_property
    def picture_codec(self) -> PictureCodec:
        """Captions and pictures ↔ ids, of a run that draws."""
        self.demand("draw")
        return read_picture_codec(self.path, self.spec.vocabulary)

    @cached_property
    def pooling(self) -> Pooling:
        """How the vectors of a text's tokens become one."""
        return read_pooling(self.path)

    @cached_property
    def pixels(self) -> Preparation:
        """How an image becomes the numbers that it reads."""
        return read_preparation(self.path, self.spec)

    @cached_property
    def weights(self) -> list[Path]:
        """Its files of weights, in order."""
        if not self.is_run:
            return sorted(self.path.glob("*.safetensors"))
        step = best_step(self.run)
        if step is None:
            return [self.run.weights]
        return [self.run.checkpoints / folder_name(step) / "weights.safetensors"]

    @cached_property
    def obstacle(self) -> str:
        """Why nothing should be kept beside this model yet."""
        if self.is_run:
            return "" if best_step(self.run) is None else "the run is not finished"
        if self.kind == "gguf":
            return "a GGUF file has no folder to keep an engine in; `regard convert` makes one"
        return "" if self.weights else "the folder has no safetensors"

    @cached_property
    def choice(self) -> Choice | None:
        """The engine that was chosen for it."""
        return None if self.obstacle else read_choice(self.path, self.weights)

    @property
    def _choice_without_torch(self) -> Choice | None:
        """The choice of another engine for a published model: it says what only torch could."""
        fast = not self.is_run and self.choice is not None and self.choice.engine != "torch"
        return self.choice if fast else None

    def probe(self) -> list[ProbePair]:
        """Sentences to compare engines on, with references where there are any."""
        return probe_of(self.run if self.is_run else None)


def best_step(run: RunFolder) -> int | None:
    """The checkpoint to use while a run is not finished; None: its final weights are there."""
    info = run.read_info()
    if info.get("state") == "finished":
        return None
    steps = steps_saved(run.checkpoints)
    if not steps and run.weights.is_file() and run.weights_info.is_file():
        return None  # it had ended and went on; what came after that is gone
    if not steps:
        advice = f"go on with `regard train --resume {typed(run.folder)}`"
        raise CheckpointError(run.folder, "no weights yet", advice=advice)
    best = info.get("best_step")
    return best if isinstance(best, int) and best in steps else steps[-1]


def open_bundle(name: str | Path, *, allow_pickle: bool = False, strict: bool = False) -> Bundle:
    """The folder of a path, a short name or a name of the hub; or an error that says what it is."""
    path = folder_of(name, allow_pickle)
    bundle = _recognised(path, "" if str(name) == str(path) else str(name), allow_pickle, strict)
    to_log(f"model: {bundle.path}, kind: {bundle.kind}")
    return bundle


def _recognised(path: Path, name: str, allow_pickle: bool, strict: bool) -> Bundle:
    """Which kind a folder or file is."""
    if path.is_file():
        return _single_file(path)
    if is_published(path) and not RunFolder(path).info.is_file():
        refuse_ctranslate2(path)
        if is_converted(path):
            check(path)
            return Bundle("converted", path, name)
        return Bundle("published", path, name, allow_pickle, strict)
    return Bundle("run", open_run(path).folder, name)


def _single_file(path: Path) -> Bundle:
    from regard.checkpoint.headers.look import is_gguf, look  # knows every kind of file

    if is_gguf(path):
        return Bundle("gguf", path)
    kind = look(path).kind
    if kind != "llama2.c":
        expected = "the folder of a run or of a published model, a GGUF or a llama2.c file"
        what = (
            "its bytes are of no kind that regard knows" if kind == "unknown" else f"it is: {kind}"
        )
        advice = f"{what}. `regard doctor {path}` says what it holds"
        raise MisuseError(path, "is a file", expected=expected, advice=advice)
    return Bundle("llama2.c", path)
