"""From a request to a finished run: recipe or own files, new or resumed, told step by step."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from regard.atomic import FULL
from regard.bundle.open_run import open_run
from regard.checkpoint.files import read_own_json, steps_saved
from regard.config import override
from regard.draw.figure.png import MissingMatplotlib
from regard.draw.terminal.progress import TrainingProgress
from regard.errors import ConfigError, MisuseError, OutOfMemoryError, TrainingError
from regard.fit.autotune import changed_since
from regard.fit.claim import Claim, claimed, claimed_free
from regard.fit.ending import ASKED, Outcome, check_goes_on
from regard.fit.job import Survey, code_of
from regard.fit.preflight import (
    HeldMemory,
    check_fits,
    guessed_compute,
    guessed_shape,
    report,
    shapes_of,
)
from regard.fit.recipe_and_data import recipe_and_data
from regard.fit.remains import check_remains
from regard.fit.request import Request
from regard.fit.signals import Stopped, StopRequest, polite_stop, told_how_to_go_on
from regard.fit.slow_choices import slow_choices
from regard.fit.trainer import Trainer
from regard.fit.warm_start import check_start
from regard.model.spec import Spec, parameter_count
from regard.printable import Say, counted
from regard.runs.curves import draw_curve
from regard.runs.folder import RunFolder, only_one, seal, typed, write_own_json
from regard.runs.log import Listener
from regard.runs.objectives import OBJECTIVES
from regard.runs.rates import in_words
from regard.runs.recipe import make_recipe
from regard.runs.sections import Recipe
from regard.training.freeze import frozen_share
from regard.training.memory_limit import SPARE, is_out_of_memory, memory_limit

RUNS = Path("runs")


def train(
    request: Request,
    say: Say,
    listener: Listener = lambda record: None,
    stop: StopRequest | None = None,
) -> Outcome:
    """Carry the request out; what it says is meant for a terminal.

    `listener` hears each record of the log; by `stop` a program may ask for an end, as signals do.
    """
    stop = stop or StopRequest()
    try:
        if request.resume is None:
            with _claimed(request) as claim:
                trainer = _new_trainer(claim, request, say)
                return _step_and_finish(trainer, say, listener, stop)
        run = open_run(request.resume)
        with only_one(run):
            trainer = _resumed_trainer(run, request, say)
            return _step_and_finish(trainer, say, listener, stop)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    raise OutOfMemoryError(  # where nothing can be divided: in the optimizer, or while validating
        "out of memory: train a smaller model (model.preset), lower train.token_budget, give it "
        "more (train.memory), or free some; what was saved stays, `regard train --resume` goes on"
    )


@contextmanager
def trial(request: Request) -> Iterator[Trainer]:
    """A training that is ready for its first step, in a folder that is removed afterwards."""
    if request.resume or request.folder:
        raise MisuseError("train", "--find-lr and --find-batch take a recipe or own files, no run")
    with TemporaryDirectory(prefix="regard-") as place:
        request = replace(request, folder=Path(place) / "trial")
        with _claimed(request) as claim:
            yield _new_trainer(claim, request, lambda line: None)


def _step_and_finish(trainer: Trainer, say: Say, listener: Listener, stop: StopRequest) -> Outcome:
    """Step, choose the final weights, draw; a request to stop ends the first two."""
    with polite_stop(stop):
        with told_how_to_go_on(trainer.run, say):
            with trainer.memory_limit():
                outcome = trainer.train(stop, lambda done: _bar(trainer, done), listener)
            for line in _unwritten(outcome, trainer.run):
                say(line)
            if outcome.signal is None:
                say(f"Training ended: {outcome.reason}.")
                with trainer.memory_limit():  # anew: steps fill theirs, a choice needs spare room
                    outcome = _finished(trainer, outcome, stop, say)
        if outcome.signal is None:
            _draw(trainer.run, say)
            task = OBJECTIVES[trainer.recipe.objective].offers[0]
            say(f'Run folder: {trainer.run.folder}   Try: regard {task} {trainer.run.folder} "…"')
            return outcome
    saved = "" if outcome.unsaved else "; everything is saved"
    choosing = ", while the final weights were chosen" if outcome.reason != ASKED else ""
    say(f"Stopped after step {outcome.step:,}{choosing}{saved}.")
    say(f"Go on with: regard train --resume {typed(trainer.run.folder)}")
    return outcome


def _unwritten(outcome: Outcome, run: RunFolder) -> Iterator[str]:
    """What the disk had no room for, file by file."""
    if outcome.unsaved:
        yield f"ERROR: the checkpoint of step {outcome.step:,} is not saved: {outcome.unsaved}."
    if outcome.unlogged:
        yield f"ERROR: {outcome.unlogged}."
    if outcome.board_failed:
        yield f"Warning: {outcome.board_failed}; {run.log.name} has the same numbers."


def _finished(trainer: Trainer, outcome: Outcome, stop: StopRequest, say: Say) -> Outcome:
    """With the final weights; or the same with the signal that came before they were chosen."""
    try:
        say(trainer.finish(stop, say))
    except Stopped:
        return replace(outcome, signal=stop.signal)
    except OSError as error:
        problem = f"the final weights could not be written: {error.strerror or error}"
        raise TrainingError(
            error.filename or trainer.run.folder, problem, advice=_cure(trainer.run, outcome, error)
        ) from None
    return outcome


def _cure(run: RunFolder, outcome: Outcome, error: OSError) -> str:
    """What to do about final weights that could not be written."""
    first = "free some space" if error.errno in FULL else "put that right"
    steps = steps_saved(run.checkpoints)
    if outcome.unsaved and not steps:
        return f"{first} and train again: no checkpoint could be written either"
    then = f"goes on after step {steps[-1]:,}" if outcome.unsaved else "writes them"
    return f"{first}, then `regard train --resume {typed(run.folder)}` {then}"


def _bar(trainer: Trainer, done: int) -> TrainingProgress:
    minutes = trainer.recipe.train.minutes
    limit = None if minutes is None else max(1.0, 60 * minutes - trainer.progress.seconds)
    return TrainingProgress(trainer.recipe.train.last_step, start_step=done, seconds_limit=limit)


def _claimed(request: Request) -> AbstractContextManager[Claim]:
    """The folder of a new run, held from now on: nothing was read or written yet."""
    origins = (request.recipe, request.source, request.texts, request.text)
    named = [path for path in origins if path]
    if request.tables is not None:
        named.append(Path("run"))
    if len(named) != 1 or (request.target and not request.source):
        raise MisuseError(
            "train: expected either a recipe (regard train demo) or own files "
            "(regard train --source a.en --target a.de; texts with labels: --texts mail.csv; text "
            "to go on with: --text novel.txt)"
        )
    if request.folder is not None:
        return claimed(request.folder, request.words())
    return claimed_free(RUNS, named[0].name.split(".")[0] or "run", request.words())


def _new_trainer(claim: Claim, request: Request, say: Say) -> Trainer:
    """A new run: the recipe made or read, the data surveyed and prepared."""
    run, folder = claim.run, claim.run.folder
    recipe, survey = recipe_and_data(request)
    if recipe.train.start_from is not None:
        check_start(recipe.train.start_from)
    code = code_of(recipe)
    spec = code.check(recipe)
    if not request.force and spec is not None:  # before anything is written
        check_fits(spec, recipe, guessed_shape(recipe.train), folder)
    say(f"Run folder: {folder}")
    if claim.taken_over:
        say("  A training was killed here before its first step; its data is prepared again.")
    for line in survey.lines():
        say(f"  {line}")
    run.update_info(data_report=survey.lines())
    code.prepare(run, recipe, survey)
    seal(run)
    job = code.load(run, recipe)
    if not request.force:  # now with the real lengths
        largest = shapes_of(job.lengths, job.spec, recipe.train, job.corpora).largest
        check_fits(job.spec, recipe, largest, folder)
    held = HeldMemory.now(recipe.train)
    workers = guessed_compute(recipe.train).workers
    with memory_limit(recipe.train.memory, SPARE, workers):
        trainer = Trainer(run, recipe, job)
        trainer.start()
        speed = trainer.speed()
    claim.ready = True
    for line in _choices(trainer, survey):
        say(line)
    for line in report(recipe, job, trainer.compute, speed, folder, held):
        say(line)
    for line in job.remarks(survey):
        say(line)
    for line in slow_choices(recipe.train, job.spec, trainer.progress.expected):
        say(f"Look at:    {line}")
    return trainer


def _resumed_trainer(run: RunFolder, request: Request, say: Say) -> Trainer:
    """An existing run, from its last checkpoint; only the length of training may be changed."""
    origins = (request.recipe, request.source, request.target, request.texts, request.text)
    if any(origins) or request.folder:
        raise MisuseError("train: --resume takes everything from the run; leave the rest out")
    allowed: tuple[str, ...] = ("train.steps=", "train.minutes=", "train.patience=")
    if request.inexact:
        allowed += ("train.workers=", "train.threads=", "train.precision=", "train.kernels=")
    for assignment in request.assignments:
        if not assignment.startswith(allowed):
            raise ConfigError(
                f"override {assignment!r}: a resumed run goes on as it was; only "
                f"{', '.join(key.rstrip('=') for key in allowed)} may change"
            )
    check_remains(run)
    changed = changed_since(run.read_info())
    if changed and not request.inexact:
        problem = f"{changed}, so it would not go on with the same bits"
        raise MisuseError(run.folder, problem, advice="add --inexact to go on all the same")
    tables = override(read_own_json(run.recipe), request.assignments)
    recipe = make_recipe(tables, str(run.recipe))
    job = code_of(recipe).load(run, recipe)
    job.verify()  # a byte that changed on the disk would be trained on
    if not run.checksums.exists():  # of an earlier version
        seal(run)
    trainer = Trainer(run, recipe, job, device=run.read_info().get("device"))
    trainer.resume(say, anew=request.inexact)
    if request.minutes is not None:  # so many more
        minutes = trainer.progress.seconds / 60 + request.minutes
        trainer.recipe = replace(recipe, train=replace(recipe.train, minutes=minutes))
    check_goes_on(trainer.recipe.train, trainer.progress, request.assignments, run.folder)
    write_own_json(run.recipe, trainer.recipe.tables())  # a later resume has what was changed now
    say(f"Resuming {run.folder} after step {trainer.progress.step:,}.")
    if request.minutes is not None:
        more = f"{request.minutes:g} more minute{'s' * (request.minutes != 1)}"
        say(f"{more}: until {trainer.recipe.train.minutes:.3g} minutes of training in all.")
    return trainer


def _choices(trainer: Trainer, survey: Survey) -> list[str]:
    """What was chosen, before the first step."""
    recipe, spec, first = trainer.recipe, trainer.model.spec, trainer.first_weights
    train, lora = recipe.train, trainer.lora
    until = [] if train.last_step is None else [counted(train.last_step, "step")]
    if train.minutes is not None:
        until.append(f"{train.minutes:g} minute{'s' * (train.minutes != 1)}")
    return [
        *trainer.job.lines(survey),
        f"Model:      {model_line(spec, recipe)}",
        *([f"Embedding:  {first.coverage.sentence()}"] if first.coverage else []),
        *([f"Start:      {'; '.join(first.warm.sentences())}"] if first.warm else []),
        *([f"Frozen:     {frozen_share(trainer.model)}"] if train.freeze and not lora else []),
        *([f"LoRA:       {lora.sentence()}"] if lora else []),
        f"Training:   {' or '.join(until)}, about {train.token_budget * train.accumulate:,} "
        f"tokens a step, on {trainer.device} ({trainer.compute})",
        *(
            [
                f"Schedule:   {in_words(train, trainer.progress.expected)}",
                "            the minutes are those of steps and validations; preparation, and the "
                "choice of the final weights, come on top",
            ]
            if train.minutes is not None
            else []
        ),
    ]


def model_line(spec: Spec, recipe: Recipe) -> str:
    """A model in a line."""
    own = OBJECTIVES[recipe.objective].own_tokenizer
    start = None if own else recipe.train.start_from
    name = recipe.model.get("preset", "base") if start is None else start.name
    layers = counted(spec.encoder_layers, "layer")
    if spec.decoder_layers:
        layers = f"{spec.encoder_layers}+{spec.decoder_layers} layers"
    return (
        f"{name}: {layers}, d_model {spec.d_model}, {counted(spec.heads, 'head')}, "
        f"FFN {spec.ffn_size}, {parameter_count(spec) / 1e6:.2f} million parameters"
    )


def _draw(run: RunFolder, say: Say) -> None:
    """The loss curve, where matplotlib is installed."""
    try:
        draw_curve(run, run.loss_curve)
        say(f"Loss curve: {run.loss_curve}")
    except (MissingMatplotlib, OSError) as error:
        say(f"No loss curve: {error}")
