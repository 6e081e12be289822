"""The weights that all contenders share: a trained run, or a preset with random weights."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from child import ENVIRONMENT, last_line


@dataclass(frozen=True)
class Prepared:
    """One model in three folders: a copy of the run, CTranslate2's files, Marian's files."""

    name: str
    weights: str  # "trained" or "random", as the table says it
    run: Path
    ctranslate2: Path
    hf: Path
    max_length: int
    failures: dict[str, str]  # peer → why its files could not be written

    @property
    def is_trained(self) -> bool:
        return self.weights == "trained"


# A run may have been trained when the paper's rules were the default; one engine has only these.
RULES = ("--length-norm", "power", "--stop", "first-k")


class CommandFailed(Exception):
    """A command of regard ended with an error."""


def regard(*arguments: str | Path) -> str:
    """Run `regard …` as a user does."""
    command = [sys.executable, "-m", "regard", *map(str, arguments)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode:
        raise CommandFailed(last_line(done.stderr))
    return done.stdout


def from_run(run: Path, work: Path, max_length: int) -> Prepared:
    """A copy, so that what regard stores beside a run does not come from an earlier machine."""
    copy = work / run.name / "run"
    has_weights = (run / "model.safetensors").exists()
    left_out = ("checkpoints",) if has_weights else ()
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns("tensorboard", *left_out))
    return _export(run.name, "trained", copy, max_length)


def from_preset(
    preset: str, corpus: tuple[Path, Path], work: Path, max_length: int, pieces: int = 8000
) -> Prepared:
    """Random weights, all but: one step of training makes a complete run with its vocabulary."""
    run = work / preset / "run"
    source, target = corpus
    regard(
        "train", "--source", source, "--target", target, "--run", run,
        f"model.preset={preset}", "model.norm_order=post", f"tokenizer.size={pieces}",
        "train.steps=1", "train.bleu_sentences=0", "train.factor=0", "train.token_budget=256",
        # Few and short: outputs of random weights never end, and engines are compared on them.
        "data.validation=50", f"decode.max_length={max_length}",
    )  # fmt: skip
    return _export(preset, "random", run, max_length)


def settle(model: Prepared, sentence: str) -> None:
    """Let regard make its files and choose its layout now, as it does at a user's first call."""
    for options in ((), ("--shortlist",)):
        try:
            regard("translate", model.run, sentence, *RULES, *options)
        except CommandFailed as error:
            print(f"{model.name} · {' '.join(options)}: {error}", file=sys.stderr, flush=True)


def _export(name: str, weights: str, run: Path, max_length: int) -> Prepared:
    failures = {}
    folders = {"ctranslate2": run.parent / "ctranslate2", "transformers": run.parent / "hf"}
    for peer, to in (("ctranslate2", "ctranslate2"), ("transformers", "hf")):
        try:
            regard("convert", run, folders[peer], "--to", to)
        except CommandFailed as error:
            failures[peer] = str(error)
    return Prepared(
        name, weights, run, folders["ctranslate2"], folders["transformers"], max_length, failures
    )


def size_of(run: Path) -> str:
    """The shape of the model, as the table's title says it."""
    spec = json.loads((run / "spec.json").read_text(encoding="utf-8"))
    layers = f"{spec['encoder_layers']}+{spec['decoder_layers']} layers"
    return f"d {spec['d_model']}, {layers}, {spec['vocabulary']:,} pieces"
