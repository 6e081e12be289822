"""`regard convert`: a published model → a folder of regard's own files, and back.

What is written is read again before it gets its name, and must answer as its source does; the
answers stay in golden.json for `regard verify`. A folder of the ctranslate2 library is made by
convert/ctranslate2.py, a GGUF file by convert/gguf.py.
"""

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from regard import atomic
from regard.answer.loaded import open_model
from regard.bundle.bundle import open_bundle
from regard.bundle.encoder_file import NAME as ENCODER
from regard.bundle.generation_settings import NOT_DONE
from regard.checkpoint.converted import WEIGHTS, save_converted
from regard.checkpoint.ctranslate2_info import PRECISIONS
from regard.checkpoint.families.family import OWN
from regard.checkpoint.families.marian import MARIAN
from regard.checkpoint.files import COPIED, copy_around, read_own_json
from regard.checkpoint.llama2c import refuse_llama2c_tokenizer
from regard.checkpoint.published import load_published, save_published
from regard.checkpoint.training_state import save_weights
from regard.checksums import NAME as CHECKSUMS
from regard.checksums import add_checksums, read_checksums, sha256
from regard.convert.card import model_card
from regard.convert.ctranslate2 import fill_folder
from regard.convert.gguf import write_file
from regard.convert.golden import golden_of
from regard.convert.source import Source, open_source
from regard.convert.verify import GOLDEN, compare, write_golden
from regard.errors import CheckpointError, DataError, MisuseError
from regard.model.transformer import Transformer
from regard.runs.folder import RunFolder, seal, write_own_json
from regard.text.published import load_tokenizer
from regard.text.special import Special
from regard.untrusted import read_json
from regard.version import __version__

MAX_TOKENIZER = 1 << 28  # bytes of a tokenizer.json
To = Literal["hf", "native", "ctranslate2", "gguf"]
# what has a choice of precision → those there are, the usual one first
OFFERED = {"ctranslate2": tuple(PRECISIONS), "gguf": ("fp16", "int8", "fp32")}
# Keys of a config that no spec knows: labels, special ids, how text is made.
KEPT = re.compile(
    r"id2label|label2id|problem_type|prefix|language|task_specific_params|bad_words_ids|\w+_token_id"
    r"|max_length|max_new_tokens|num_beams|length_penalty|early_stopping|do_sample"
    r"|min_length|no_repeat_ngram_size|repetition_penalty"
)


@dataclass(frozen=True)
class Conversion:
    """What was written."""

    folder: Path  # or the file
    family: str
    parameters: int
    files: tuple[str, ...]
    same_bits: bool  # False: the same function in another order of its numbers
    unread: str = ""  # why what was written could not be tried here
    cost: float = 0.0  # of a lower precision: how far an answer is from the source's, at most


def convert(
    path: str | Path,
    out: Path,
    to: To,
    *,
    tokenizer: Path | None = None,
    allow_pickle: bool = False,
    strict: bool = False,
    precision: str | None = None,
    shortlist: bool = False,
    card: str = "",
) -> Conversion:
    """Write the model at `path` as a new folder (or GGUF file) `out`: whole, or not at all.

    `strict` refuses a published folder with keys in its config.json that regard does not know.
    `precision` is for ctranslate2 (fp32 unless given) and GGUF (fp16), `shortlist` for the former;
    `card` is the name under which it is handed on, for a model card (convert/card.py).
    """
    if shortlist and to != "ctranslate2":
        raise MisuseError("--shortlist: only `--to ctranslate2` has it")
    precision = _precision(to, precision)
    if out.exists() or out.is_symlink():
        advice = "regard convert never overwrites, choose a name"
        raise MisuseError(out, "already there", advice=advice)
    source = open_source(path, allow_pickle=allow_pickle, strict=strict)
    _check_source(source, to, tokenizer)
    if to == "gguf":
        return _write_gguf(source, out, precision)
    if to == "ctranslate2":
        with atomic.new_folder(out) as folder:
            unread = fill_folder(source, folder, precision, shortlist)
            if source.family is None:
                _write_tokenizer(RunFolder(source.path).tokenizer, folder)
            else:
                _copy_files(source, folder, tokenizer)
            _state_checksums(folder)
            return replace(_conversion(source, out, folder, to), unread=unread)
    expected = golden_of(source.model)
    with atomic.new_folder(out) as folder:
        if source.family is None:
            again = _write_run(source, folder, to)
        else:
            again = _write_published(source, folder, to)
            _copy_files(source, folder, tokenizer)
            if to == "native":
                _state_checksums(folder)
        got = golden_of(again)
        same_bits = got["weights"] == expected["weights"]
        differences = compare(expected | {"weights": got["weights"]}, got)
        if differences:
            problem = f"the converted model answers differently ({differences[0]})"
            raise CheckpointError(path, problem, advice="nothing was written. Please report this")
        write_golden(folder / GOLDEN, got)
        if card:
            golden = sha256(folder / GOLDEN)
            atomic.write_text(folder / "README.md", model_card(open_bundle(path), card, golden))
        return _conversion(source, out, folder, to, same_bits)


def _check_source(source: Source, to: To, tokenizer: Path | None) -> None:
    """Refuse what the format cannot hold, and a tokenizer where there is one."""
    if source.needs_own_files and to != "native":
        problem = f"{source.bundle} offers {source.bundle.tasks[0]}, which --to {to} has not"
        raise MisuseError("convert", problem, advice="`--to native` keeps all that it needs")
    if source.family is None and tokenizer is not None:
        raise MisuseError("--tokenizer: a run has its own tokenizer; leave the option out")
    if source.bundle.kind == "gguf" and tokenizer is not None:
        raise MisuseError("--tokenizer: a GGUF file has its own tokenizer; leave the option out")


def _precision(to: To, asked: str | None) -> str:
    """The one that was asked for, if the format has it, or the usual one."""
    offered = OFFERED.get(to, ())
    if asked and asked not in offered:
        others = " or ".join(f"--to {name}" for name in OFFERED)
        choices = f"{', '.join(offered)} with --to {to}" if offered else f"none without {others}"
        raise MisuseError("--precision", got=asked, expected=choices)
    return asked or next(iter(offered), "fp32")


def _write_gguf(source: Source, out: Path, precision: str) -> Conversion:
    golden, got, exact = write_file(source, out, precision)
    same_bits = got["weights"] == exact["weights"]
    cost = max(abs(a - b) for a, b in zip(got["values"], exact["values"], strict=True))
    count = sum(p.numel() for p in source.model.parameters())
    return Conversion(out, "llama", count, (out.name, golden.name), same_bits, "", cost)


def _state_checksums(folder: Path) -> None:
    """Of every file whose checksum is not stated yet; regard.json has that of the weights."""
    names = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    add_checksums(folder, sorted(names - {CHECKSUMS, WEIGHTS, *(read_checksums(folder) or ())}))


def _conversion(
    source: Source, out: Path, folder: Path, to: To, same_bits: bool = False
) -> Conversion:
    """What `folder`, which becomes `out`, holds now."""
    files = sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())
    family = source.family or (MARIAN if to == "hf" else OWN)
    count = sum(p.numel() for p in source.model.parameters())
    return Conversion(out, family.name, count, tuple(files), same_bits)


def _write_published(source: Source, folder: Path, to: To) -> Transformer:
    """Weights and config; the model as it is read from them."""
    assert source.family is not None
    kept = {
        key: value for key, value in source.config.items() if KEPT.fullmatch(key) or key in NOT_DONE
    }
    if source.bundle.kind == "llama2.c":  # its tokenizer begins with 1 and ends with 2
        kept |= {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None}
    if to == "hf":
        save_published(source.model, source.family, folder, kept)
    else:
        save_converted(source.model, source.family.name, folder, __version__)
        config = source.config or source.family.config(source.model.spec) | kept
        config = {**config, "model_type": source.family.name}  # files of 2018 do not say it
        atomic.write_json(folder / "config.json", config)
    return load_published(folder)


def _copy_files(source: Source, folder: Path, tokenizer: Path | None) -> None:
    """The files around the weights; a link that leads out of the source's folder is refused."""
    if tokenizer is not None and not tokenizer.is_file():
        raise MisuseError(tokenizer, "no such file", expected="the tokenizer of the model")
    single = tokenizer or source.tokenizer
    if single is not None:
        refuse_llama2c_tokenizer(single)
        ours = single.name if COPIED.fullmatch(single.name) else "tokenizer.model"
        name = "tokenizer.model" if single.suffix == ".model" else ours
        shutil.copyfile(single, folder / name)
    if source.path.is_dir():
        copy_around(source.path, folder)
    if source.bundle.vocabulary_in_file is not None:
        for name, content in source.bundle.vocabulary_in_file.files.items():
            atomic.write_bytes(folder / name, content)
    if tokenizer is not None:
        _check_tokenizer(tokenizer, folder, source.model.spec.vocabulary)


def _check_tokenizer(file: Path, folder: Path, vocabulary: int) -> None:
    """Insist that the file, now in the folder, can be read and has no more tokens than weights."""
    tokenizer = load_tokenizer(folder)
    if tokenizer is None:
        raise DataError(file, "no tokenizer that regard reads", expected="a SentencePiece model")
    if tokenizer.size > vocabulary:
        problem = f"knows {tokenizer.size} tokens, the weights {vocabulary}"
        raise DataError(file, problem, advice="it belongs to another model")


def _write_run(source: Source, folder: Path, to: To) -> Transformer:
    """A run of ours, without its training; or as Marian, which is the paper's model too."""
    run, model = RunFolder(source.path), source.model
    if to == "hf":
        roles = Special()
        ids: dict[str, Any] = {
            "pad_token_id": roles.pad,
            "bos_token_id": roles.bos,
            "eos_token_id": roles.eos,
            "forced_eos_token_id": None,  # a run does not force an end at the limit
            "decoder_start_token_id": roles.bos,
        }
        save_published(model, MARIAN, folder, ids)
        _write_tokenizer(run.tokenizer, folder)
        return load_published(folder)
    copy = RunFolder(folder)
    copy_around(run.folder, folder)
    if (run.folder / ENCODER).is_file():
        write_own_json(folder / ENCODER, read_own_json(run.folder / ENCODER))
    write_own_json(copy.recipe, read_own_json(run.recipe))
    write_own_json(copy.spec, read_own_json(run.spec))
    save_weights(copy.weights, dict(model.named_parameters()))
    write_own_json(
        copy.weights_info, {"sha256": sha256(copy.weights), "converted_from": run.folder.name}
    )
    write_own_json(copy.info, run.read_info() | {"state": "finished", "log_sha256": ""})
    seal(copy)
    return open_model(folder, "cpu").transformer


def _write_tokenizer(file: Path, folder: Path) -> None:
    """Our tokenizer.json with the end token added to every text, as the model was trained."""
    values = read_json(file, MAX_TOKENIZER, MAX_TOKENIZER)
    end = {"SpecialToken": {"id": "</s>", "type_id": 0}}
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    values["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [first, end],
        "pair": [first, second, end],
        "special_tokens": {"</s>": {"id": "</s>", "ids": [Special().eos], "tokens": ["</s>"]}},
    }
    atomic.write_json(folder / "tokenizer.json", values)
    roles = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast"} | roles
    atomic.write_json(folder / "tokenizer_config.json", settings)
