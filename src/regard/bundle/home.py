"""A model's folder before its weights are read: text, search, limit, and where the weights lie.

That is all a translation by the ctranslate2 engine needs, so nothing here imports torch; whoever
needs the weights calls `transformer`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.bundle.codec import Codec, own_codec, published_codec
from regard.bundle.encoder_file import OFFERS, objective_of
from regard.bundle.engine_choice import Choice, read_choice
from regard.bundle.generation_settings import Settings
from regard.bundle.named import located
from regard.bundle.open_run import open_run
from regard.checkpoint.files import (
    folder_name,
    is_published,
    read_json,
    steps_saved,
)
from regard.config import build
from regard.decode.hypothesis import Search
from regard.decode.rules import NO_RULES, Rules
from regard.errors import CheckpointError, MisuseError
from regard.model.spec import Spec
from regard.runs.folder import Run, read_texts, typed
from regard.runs.recipe import make_recipe
from regard.text.published import PublishedTokenizer
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

Probe = list[tuple[str, str | None]]  # sources with their references, where there are any
PROBES = 500  # fewer, and BLEU moves by more than 0.2 with every second sentence
# For models without validation pairs of their own.
SENTENCES = (
    "How are you?",
    "I would like a cup of coffee, please.",
    "The animal didn't cross the street because it was too tired.",
    "She has lived in this town for more than twenty years.",
    "They went to the bank to exchange money.",
    "What time does the next train leave?",
    "The committee will meet again on Monday to discuss the new proposal.",
    "We are friends.",
    "If it rains tomorrow, we will stay at home and read.",
    "Two young men are playing football in front of a large white house.",
    "No.",
    "The price of bread has risen by 3.5 percent since last year.",
)


@dataclass(frozen=True)
class Home:
    """What an engine is made from, whichever kind of folder the model has."""

    folder: Path
    device: str  # as asked for
    weights: Sequence[Path]
    spec: Spec | None  # None: known once the model is loaded
    codec: Codec
    search: Search
    rules: Rules
    limit: int | None
    choice: Choice | None
    transformer: "Callable[[], Transformer]"
    probe: Callable[[], Probe]
    obstacle: str = ""  # why nothing should be kept beside this model yet
    warning: str = ""  # what the folder asks for and regard does not do


def limit_of(spec: Spec) -> int | None:
    """The most tokens of a sentence; relative and rotary positions have no end.

    Sinusoids have none either, but no model was trained that far, and a line without a full stop
    must not exhaust the memory.
    """
    return None if spec.positions in ("relative", "rotary") else spec.max_length


def parts_of_run(run: Run) -> tuple[Spec, Tokenizer, Search]:
    """Everything of a run but its weights."""
    if objective_of(run) != "translate":
        offered = ", ".join([*OFFERS.get(objective_of(run), ()), "logits"])
        raise MisuseError(
            f"translate: {run.folder} (a run of regard, an encoder) does not offer it; it offers "
            f"{offered}"
        )
    tokenizer = Tokenizer.load(run.tokenizer)
    spec = build(Spec, read_json(run.spec), str(run.spec))
    if spec.vocabulary != tokenizer.size:
        raise CheckpointError(
            f"{run.folder}: the tokenizer holds {tokenizer.size} pieces, the spec "
            f"{spec.vocabulary}; one of the two files belongs to another run"
        )
    recipe = make_recipe(read_json(run.recipe), str(run.recipe))
    return spec, tokenizer, recipe.decode


def run_named(name: str | Path) -> Run:
    """The run that a person named, for commands that read runs only."""
    place = located(name)
    if isinstance(place, str) or (is_published(place) and not Run(place).info.is_file()):
        raise MisuseError(
            f"{name}: a published model; this command reads the run of a training, made by "
            "`regard train`"
        )
    return open_run(place)


def best_step(run: Run) -> int | None:
    """The checkpoint to use while a run is not finished; None: its final weights are there."""
    info = run.read_info()
    if info.get("state") == "finished":
        return None
    steps = steps_saved(run.checkpoints)
    if not steps and run.weights.is_file() and run.weights_info.is_file():
        return None  # it had ended and went on; what came after that is gone
    if not steps:
        raise CheckpointError(
            f"{run.folder}: no weights yet; go on with `regard train --resume {typed(run.folder)}`"
        )
    best = info.get("best_step")
    return best if isinstance(best, int) and best in steps else steps[-1]


def home_of_run(
    run: Run,
    spec: Spec,
    tokenizer: Tokenizer,
    search: Search,
    transformer: "Callable[[], Transformer]",
    device: str = "auto",
) -> Home:
    """Of a run whose parts are known."""
    weights: list[Path] = []
    obstacle = "the model does not lie in the folder of a run"
    if run.info.is_file():
        step = best_step(run)
        folder = run.checkpoints / folder_name(step or 0)
        weights = [run.weights if step is None else folder / "weights.safetensors"]
        obstacle = "" if step is None else "the run is not finished"
    return Home(
        folder=run.folder,
        device=device,
        weights=weights,
        spec=spec,
        codec=own_codec(tokenizer),
        search=search,
        rules=NO_RULES,
        limit=limit_of(spec),
        choice=read_choice(run.folder, weights) if not obstacle else None,
        transformer=transformer,
        probe=lambda: _validation_pairs(run),
        obstacle=obstacle,
    )


def _validation_pairs(run: Run) -> Probe:
    """Evenly from all over the held-out pairs: their beginning may be all of one kind."""
    file = run.whole("valid.jsonl")
    rows = read_texts(file, source=str, target=str) if file.exists() else []
    if not rows:
        return [(text, None) for text in SENTENCES]
    step = max(1, len(rows) // PROBES)
    return [(row["source"], row["target"]) for row in rows[::step][:PROBES]]


def home_of_published(
    folder: Path,
    tokenizer: PublishedTokenizer,
    settings: Settings,
    spec: Spec | None,
    transformer: "Callable[[], Transformer]",
    device: str = "auto",
    choice: Choice | None = None,
) -> Home:
    """Of a published encoder–decoder model."""
    weights = weights_of_published(folder)
    found = read_choice(folder, weights) if choice is None else choice
    limit = limit_of(spec) if spec else None
    return Home(
        folder=folder,
        device=device,
        weights=weights,
        spec=spec,
        codec=published_codec(tokenizer, settings),
        search=settings.search,
        rules=settings.rules,
        limit=found.limit if spec is None and found else limit,
        choice=found,
        transformer=transformer,
        probe=lambda: [(text, None) for text in SENTENCES],
        obstacle="" if weights else "the folder has no safetensors",
        warning=settings.warning,
    )


def weights_of_published(folder: Path) -> list[Path]:
    """Its files of weights, in order."""
    return sorted(folder.glob("*.safetensors"))
