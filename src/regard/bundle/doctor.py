"""`regard doctor`: what a file or folder of weights is, what is wrong, whether regard can run it.

Nothing of it is executed and no weight is read: only headers, names and small JSON files.
"""

import errno
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.checkpoint.converted import check_converted
from regard.checkpoint.families.config import requests_for_code
from regard.checkpoint.families.family import OWN
from regard.checkpoint.files import is_converted, is_published, read_config_file, read_own_json
from regard.checkpoint.gguf import check_gguf
from regard.checkpoint.headers.contents import Contents, Finding, Level, Stored, told
from regard.checkpoint.headers.look import look
from regard.checkpoint.published import FAMILIES, TOKENIZERS, check_published
from regard.checksums import check, read_checksums
from regard.config import build
from regard.errors import CheckpointError, MisuseError, RegardError
from regard.model.spec import Spec
from regard.printable import counted
from regard.runs.folder import RunFolder
from regard.runs.objectives import objective_of
from regard.text.published_gguf import read_vocabulary
from regard.untrusted import member, opened

# A tensor of a layout that no family's table has → what it is.
SIGNS = {
    r"layers\.\d+\.attention\.wq\.weight": "llama (its makers' own names)",
    r"blk\.\d+\.attn_q\.weight": "llama (llama.cpp's names)",
    r"(model\.)?(encoder|decoder)\.(version|embed_positions\._float_tensor)": (
        "a Transformer of fairseq"
    ),
    r"(model\.)?(encoder|decoder)\.layernorm_embedding\.weight": "mbart",
}
# task → a command that shows it
COMMANDS = {
    "fill": 'regard fill {} "Paris is the [MASK] of France."',
    "tag": 'regard tag {} "A sentence."',
    "classify": 'regard classify {} "A sentence."',
    "embed": 'regard embed {} "A sentence."',
    "complete": 'regard complete {} "Once upon a time"',
    "chat": 'regard chat {} "Hi, how are you?"',
    "generate": 'regard generate {} "translate English to German: How are you?"',
    "translate": 'regard translate {} "How are you?"',
    "see": "regard see {} image.png",
    "caption": "regard caption {} image.png",
    "draw": 'regard draw {} "two red circles above a blue square"',
}
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".npz", ".npy", ".gguf", ".h5",
           ".msgpack", ".pkl")  # fmt: skip
NOT_MODELS = ("training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth")
MAX_FILES = 2_000


@dataclass
class Diagnosis:
    """What the doctor says."""

    path: Path
    kind: str
    family: str | None = None
    writer: dict[str, str] = field(default_factory=dict)
    files: dict[str, Contents] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    runs: bool = False
    why_not: str = ""
    how: str = ""  # the exact command

    def find(self, level: Level, text: str) -> None:
        self.findings.append(Finding(level, text))

    @property
    def tensors(self) -> list[Stored]:
        return [held for contents in self.files.values() for held in contents.tensors]

    @property
    def parameters(self) -> int:
        return sum(held.count for held in self.tensors)

    @property
    def dtypes(self) -> list[str]:
        return sorted({held.dtype for held in self.tensors})


def examine(path: Path, strict: bool = False) -> Diagnosis:
    """Look at a file or a folder; whatever it holds, the answer is a diagnosis.

    `strict`: keys of a config.json that regard does not know are a reason against it.
    """
    if path.is_dir():
        return _examine_folder(path, strict)
    if not path.exists() and not path.is_symlink():
        raise MisuseError(path, "no such file or folder")
    contents = look(path)
    report = Diagnosis(path, contents.kind, files={path.name: contents})
    report.writer = contents.writer
    report.findings += contents.findings
    report.family = family_by_names(contents)
    _advise_file(report, contents)
    return report


def family_by_names(contents: Contents) -> str | None:
    """The family that the tensors' names give away."""
    if contents.kind == "llama2.c":
        return "llama"
    if contents.writer.get("general.architecture"):
        return contents.writer["general.architecture"]
    names = [held.name for held in contents.tensors]
    for family in (*FAMILIES.values(), OWN):
        if family.is_told_by(names):
            return family.name
    layouts = (what for sign, what in SIGNS.items() if any(re.fullmatch(sign, n) for n in names))
    return next(layouts, None)


def _advise_file(report: Diagnosis, contents: Contents) -> None:
    """What to do with a single file."""
    path, folder = report.path, report.path.parent
    if contents.kind == "llama2.c":
        report.runs, report.how = True, f"regard convert {path} OUT --to native"
    elif contents.kind.startswith("gguf"):
        _advise_gguf(report)
    elif contents.kind.startswith("np"):
        report.why_not = "arrays without a config say too little; regard reads folders"
    elif (folder / "config.json").is_file():
        report.why_not = "a file of a folder; ask about the folder"
        report.how = f"regard doctor {folder}"
    elif contents.tensors:
        report.find("missing", "config.json beside it: weights alone do not say how they are used")
        report.why_not = "put the model's config.json (and tokenizer files) into its folder"
    else:
        report.why_not = "no tensors were found in it"


def _advise_gguf(report: Diagnosis) -> None:
    """Whether its keys and tensors agree, and its tokenizer is of a kind that there is."""
    try:
        checked = check_gguf(report.path)
        vocabulary = read_vocabulary(checked.header.values, report.path)
        if vocabulary is not None:
            vocabulary.tokenizer()
    except RegardError as error:
        report.why_not = told(str(error))
        return
    report.runs = True
    if vocabulary is None:
        report.find("missing", "a tokenizer: it takes and gives ids, no text")
    command = COMMANDS["complete"] if vocabulary else _in_python(checked.spec)
    report.how = command.replace("{}", str(report.path))


def _examine_folder(folder: Path, strict: bool) -> Diagnosis:
    report = Diagnosis(folder, "folder")
    names = []
    try:
        for number, entry in enumerate(folder.iterdir()):
            if number >= MAX_FILES:
                report.find("note", f"more than {MAX_FILES:,} files; the rest is not looked at")
                break
            names.append(entry.name)
    except OSError as error:
        report.find("broken", f"cannot be listed: {error.strerror}")
        return report
    for name in sorted(names):
        _look_at(report, folder, name)
    if (folder / "run.json").exists():
        _examine_run(report)
    elif is_converted(folder):
        _examine_converted(report)
    elif is_published(folder):
        _examine_published(report, strict)
    else:
        report.kind = "folder without a config"
        report.find("missing", "config.json: nothing says which model this is")
        report.why_not = "no config.json"
        guesses = [family_by_names(contents) for contents in report.files.values()]
        report.family = next((guess for guess in guesses if guess), None)
        for name, contents in report.files.items():
            # single files that say enough about themselves
            if contents.kind == "llama2.c" or contents.kind.startswith("gguf"):
                report.why_not += f", but {told(name)} needs none"
                is_gguf = contents.kind.startswith("gguf")
                command = "regard complete {}" if is_gguf else "regard convert {} OUT --to native"
                report.how = command.replace("{}", str(folder / name))
                break
    return report


def _look_at(report: Diagnosis, folder: Path, name: str) -> None:
    """One entry of the folder: weights are looked into, code and stray links are named."""
    path = folder / name
    try:
        if not path.is_dir() or name.endswith(WEIGHTS):
            opened(path).close()
    except OSError as error:
        if error.errno == errno.EINVAL:  # a pipe, a device: no other file may be read in its place
            report.find("broken", f"{told(name)}: cannot be read: {error.strerror}")
            return
    if name.endswith(".py"):
        report.find("unsafe", f"{told(name)}: a program; regard never runs code of a folder")
    if not name.endswith(WEIGHTS) or name.startswith("tok"):
        return
    try:
        member(folder, name)
    except CheckpointError as error:
        report.find("unsafe", told(str(error)))
        return
    contents = look(path)
    for finding in contents.findings:
        report.find(finding.level, f"{told(name)}: {finding.text}")
    if name in NOT_MODELS:
        report.find("note", f"{name}: left over from training, not part of the model")
        return
    report.files[name] = contents


def _examine_run(report: Diagnosis) -> None:
    report.kind, report.family = "run of regard train", "regard"
    try:
        check(report.path)
        for name in ("recipe.json", "model.json", "encoder.json"):
            if (report.path / name).exists():
                read_own_json(report.path / name)
        info = read_own_json(report.path / "run.json")
        build(Spec, read_own_json(report.path / "spec.json"), str(report.path / "spec.json"))
        tasks = objective_of(RunFolder(report.path)).offers
    except RegardError as error:
        report.find("broken", told(str(error)))
    if any(finding.level == "broken" for finding in report.findings):
        report.why_not = "its files are not whole; copy the run again"
        return
    if read_checksums(report.path) is None:
        text = "no checksums.json: made by an earlier version, damage may go unnoticed"
        report.find("note", text)
    report.writer = {key: told(str(info[key])) for key in ("state", "versions") if key in info}
    report.runs, report.how = True, _command(tasks).replace("{}", str(report.path))


def _examine_converted(report: Diagnosis) -> None:
    report.kind = "folder of regard convert"
    try:
        info = read_own_json(report.path / "regard.json")
        report.writer = {"regard": told(str(info.get("regard")))}
        report.family = told(str(info.get("family")))
        spec, _ = check_converted(report.path)
    except RegardError as error:
        report.find("broken", told(str(error)))
        report.why_not = "its files are not whole, or not of one model; convert or copy it again"
        return
    _advise_folder(report, spec)


def _examine_published(report: Diagnosis, strict: bool) -> None:
    """config.json, and whether all headers agree with it."""
    report.kind = "published folder"
    try:
        config = read_config_file(report.path)
    except RegardError as error:
        report.find("broken", told(str(error)))
        report.why_not = "its config.json cannot be read"
        return
    _read_writer(report, config)
    try:
        checked = check_published(report.path, allow_pickle=True, strict=strict)
    except RegardError as error:
        report.why_not = str(error)
        return
    for key in checked.unknown:
        report.find("note", f"config.json: {key}: regard does not know it; --strict refuses it")
    report.family = checked.family.name
    if checked.weights.is_pickled:
        report.why_not = "its weights are pickled; make a safe copy, which runs"
        report.how = f"regard convert {report.path} OUT --to hf --allow-pickle"
        return
    _advise_folder(report, checked.spec)


def _read_writer(report: Diagnosis, config: dict[str, Any]) -> None:
    """Who wrote the config, and what it asks for that is never done."""
    family = config.get("model_type")
    if isinstance(family, str):
        report.family = told(family)
        if family not in FAMILIES:
            report.find("note", f"model_type {told(family)!r} is none of {', '.join(FAMILIES)}")
    for key in ("transformers_version", "architectures", "dtype", "torch_dtype"):
        if config.get(key):
            report.writer[key] = told(str(config[key]).strip("[]'"))
    for contents in report.files.values():
        report.writer |= contents.writer
    for request in requests_for_code(config):
        report.find("unsafe", f"config.json: {request}; regard refuses the folder")


def _advise_folder(report: Diagnosis, spec: Spec) -> None:
    """The command that runs it."""
    report.runs = True
    family = FAMILIES.get(str(report.family))
    command = _command(family.tasks(spec) if family else ())
    has_text = any((report.path / name).is_file() for name in TOKENIZERS)
    if not spec.image_size and not has_text:
        report.find("missing", "tokenizer files: it takes and gives ids, no text")
        command = ""
    report.how = (command or _in_python(spec)).replace("{}", str(report.path))


def _command(tasks: Iterable[str]) -> str:
    """That of the first task that has one."""
    return next((COMMANDS[task] for task in tasks if task in COMMANDS), "")


def _in_python(spec: Spec) -> str:
    """For a model whose family has no command, or that has no tokenizer."""
    if spec.head == "none":
        return "python -c \"import regard; print(regard.load('{}').spec)\""
    inputs = "[[1, 2, 3]]"
    if spec.image_size:
        side = spec.image_size
        inputs = f"pixels=torch.zeros(1, {spec.channels}, {side}, {side})"
    elif spec.encoder_layers and spec.decoder_layers:
        inputs += ", target=[[0]]"
    return f"python -c \"import torch, regard; print(regard.load('{{}}').logits({inputs}))\""


def lines(report: Diagnosis, most: int = 12) -> Iterator[str]:
    """The diagnosis as text."""
    yield f"{report.path}: {report.kind}"
    yield f"family      {report.family or 'not recognised'}"
    for key, value in report.writer.items():
        yield f"  {key}: {value}"
    count = f"{counted(len(report.tensors), 'tensor')}, {counted(report.parameters, 'number')}"
    yield f"weights     {count}, {', '.join(report.dtypes) or 'none'}"
    for name, contents in report.files.items():
        yield f"  {told(name)}: {contents.kind}, {counted(len(contents.tensors), 'tensor')}"
    for held in report.tensors[:most]:
        shape = " × ".join(str(size) for size in held.shape) or "one number"
        yield f"    {told(held.name)}  {held.dtype}  {shape}"
    if len(report.tensors) > most:
        yield f"    … {len(report.tensors) - most:,} more (--tensors)"
    for finding in report.findings:
        yield f"{finding.level:<11} {finding.text}"
    yield f"regard runs it: {'yes' if report.runs else 'no'}"
    if report.why_not:
        yield f"  {report.why_not}"
    if report.how:
        yield f"  {report.how}"
