"""Training, put together: the one place where loop, validation, log and checkpoints meet.

batches → steps → each step: log; now and then: validate, checkpoint → final weights
"""

import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass
from time import monotonic

import torch
from torch import Tensor

from regard import __version__, atomic
from regard.checkpoint import native
from regard.checkpoint.native import Checkpoint
from regard.config import build, to_tables
from regard.data.batch import Batch, make_batch
from regard.draw.progress import TrainingProgress
from regard.model.device import choose_device
from regard.model.transformer import Transformer
from regard.tasks.epochs import Epochs
from regard.tasks.load import load_into
from regard.tasks.log import Log
from regard.tasks.pace import choose_compute
from regard.tasks.prepare import Prepared
from regard.tasks.rates import count_validation, rate_at
from regard.tasks.recipe import Recipe
from regard.tasks.run import Run, write_json
from regard.tasks.static import Coverage, start_from
from regard.tasks.stop import StopRequest
from regard.tasks.validate import Validation, validate
from regard.tasks.warm_start import WarmStart, check_digest, take_weights, weights_digest
from regard.train.compute import Compute
from regard.train.crew import Crew
from regard.train.ema import MovingAverage
from regard.train.freeze import freeze
from regard.train.label_smoothing import Loss
from regard.train.loop import Step, training_steps
from regard.train.objectives import translation_loss
from regard.train.optimizer import make_adam, optimizer_tensors, restore_optimizer
from regard.train.state import Progress

LOG_EVERY = 10  # steps between lines of the log


@dataclass(frozen=True)
class Outcome:
    """How training ended: `reason` is a clause for a person; `signal` is set if it was asked to."""

    step: int
    reason: str
    signal: int | None


class Fit:
    """One training of one run; `start` begins, `resume` continues from the last checkpoint."""

    def __init__(self, run: Run, recipe: Recipe, data: Prepared, device: str | None = None) -> None:
        self.run, self.recipe, self.data = run, recipe, data
        self.device = choose_device(device or recipe.train.device)
        self.model = Transformer(recipe.spec(data.tokenizer.size), seed=recipe.train.seed)
        freeze(self.model, recipe.train.freeze)
        self.model.to(self.device)
        self.optimizer = make_adam(self.model)
        self.ema = MovingAverage(self.model, recipe.train.ema)
        self.progress = Progress()
        self.epochs = Epochs(recipe, data, run.data)
        self.compute = Compute()
        self.coverage: Coverage | None = None  # where the embedding starts from static vectors
        self.warm: WarmStart | None = None  # where weights start from those of another model
        self._speed = 0.0  # tokens per second, smoothed for the eye

    def start(self) -> None:
        """Write down what this run is, before its first step."""
        self._start_weights()
        self._choose_compute()
        write_json(self.run.recipe, to_tables(self.recipe))
        write_json(self.run.spec, to_tables(self.model.spec))
        self.run.update_info(
            regard=__version__,
            python=platform.python_version(),
            device=str(self.device),
            state="training",
            **({"begun_from": weights_digest(self._weights())} if self.warm else {}),
        )

    def _choose_compute(self) -> None:
        """Measure how to compute a step, and write down what the last bits depend on."""
        pace = choose_compute(self.model, self._loss, self._groups, self.recipe.train, self.device)
        self.compute = pace.compute
        self.progress = Progress()  # the self-test took batches
        self.run.update_info(**pace.record())

    def resume(self, anew: bool = False) -> None:
        """Take up the last checkpoint: weights, optimizer, place in the data, way to compute.

        Precision, workers and threads decide the order of sums, so the bits depend on them; `anew`
        chooses them again.
        """
        for folder in (self.run.checkpoints, self.run.folder, self.run.data):
            atomic.sweep(folder)
        if anew:
            self._choose_compute()
        else:
            self.compute = build(Compute, self.run.read_info()["compute"], str(self.run.info))
        steps = native.steps_saved(self.run.checkpoints)
        if steps:
            found = native.load_checkpoint(self.run.checkpoints, steps[-1], self._weights())
            load_into(self.model, found.weights)
            moments = self.ema.restore(found.optimizer)
            restore_optimizer(self.optimizer, self.model, moments)
            self.progress = build(Progress, found.state, f"step {steps[-1]}: state.json")
        else:  # stopped before its first checkpoint: it begins again
            self._start_weights()
            if self.recipe.train.start_from is not None:
                stated = self.run.read_info().get("begun_from")
                check_digest(self._weights(), stated, self.recipe.train.start_from)
        self.run.update_info(state="training")

    def train(
        self, stop: StopRequest, show: Callable[[int], AbstractContextManager[TrainingProgress]]
    ) -> Outcome:
        """Step until the recipe's end, early stopping or a request to stop; then say why."""
        first = self.progress.step + 1
        # What is not the crew's work, optimizer and validation, may use all its cores.
        torch.set_num_threads(self.compute.workers * self.compute.threads)
        with closing(Crew(self.model, self._loss, self.compute, self.recipe.train.seed)) as crew:
            return self._train(crew, first, stop, show)

    def _train(
        self,
        crew: Crew,
        first: int,
        stop: StopRequest,
        show: Callable[[int], AbstractContextManager[TrainingProgress]],
    ) -> Outcome:
        steps = training_steps(
            self.model,
            self.optimizer,
            self._groups(),
            crew.gradients,
            self._rate,
            self.recipe.train.clip,
            first,
        )
        with (
            Log(self.run.log, self.run.tensorboard, after_step=first - 1) as log,
            show(first - 1) as bar,
        ):
            started = monotonic() - self.progress.seconds
            if self.coverage is not None:
                log.write("embeddings", 0, **asdict(self.coverage))
            if self.warm is not None:
                log.write("start", 0, **asdict(self.warm))
            reason = self._ended() or self._no_better()
            while reason is None:
                step = next(steps)
                self.ema.update(step.number)
                self.progress.step = step.number
                self.progress.tokens += step.tokens
                self.progress.seconds = monotonic() - started
                self._report(step, log, bar)
                reason = self._ended()
                asked = stop.signal is not None
                due = step.number % self.recipe.train.validate_every == 0
                if due or reason:
                    self._validate(log, bar)
                    reason = reason or self._no_better()
                if due or reason or asked:
                    self._save()
                if asked and reason is None:
                    self.run.update_info(state="stopped")
                    return Outcome(step.number, "asked to stop", stop.signal)
        return Outcome(self.progress.step, reason, None)

    def finish(self) -> str:
        """Choose the final weights, best or average or moving average; say which.

        Until the state is "finished", `load` takes the best checkpoint: a crash between the two
        files leaves a run that works and can be resumed.
        """
        root, train = self.run.checkpoints, self.recipe.train
        best = self.progress.best_step or native.steps_saved(root)[-1]
        last = self._regular_steps()[-train.average :]
        candidates = {
            f"the best checkpoint (step {best:,})": native.load_weights(root, best, self._weights())
        }
        if len(last) > 1:
            which = f"the last {len(last)} checkpoints (steps {last[0]:,} to {last[-1]:,})"
            name = f"the average of {which}"
            candidates[name] = native.average_weights(root, last, self._weights())
        candidates |= self.ema.candidate(self._weights())
        scored: dict[str, Validation] = {}
        for name, weights in candidates.items():
            load_into(self.model, weights)
            scored[name] = validate(self.model, self.data, train.token_budget, train.bleu_sentences)
        chosen = min(scored, key=lambda name: scored[name].loss)
        load_into(self.model, candidates[chosen])
        native.save_weights(self.run.weights, self._weights())
        write_json(
            self.run.weights_info,
            {
                "from": chosen,
                "loss": scored[chosen].loss,
                "bleu": scored[chosen].bleu,
                "sha256": native.sha256(self.run.weights),
            },
        )
        self.run.update_info(state="finished", step=self.progress.step)
        return f"Final weights: {chosen}; {scored[chosen].sentence()}"

    def _start_weights(self) -> None:
        vectors, other = self.recipe.train.embeddings, self.recipe.train.start_from
        if vectors is not None:
            self.coverage = start_from(self.model, self.data.tokenizer, vectors)
        self.warm = None if other is None else take_weights(self.model, other)

    def _weights(self) -> dict[str, Tensor]:
        return dict(self.model.named_parameters())

    def _rate(self, step: int) -> float:
        return rate_at(step, self.recipe.train, self.model.spec.d_model, self.progress)

    def _loss(self, model: Transformer, batch: Batch) -> Loss:
        return translation_loss(model, batch.to(self.device), self.recipe.train.label_smoothing)

    def _groups(self) -> Iterator[list[Batch]]:
        """Batches from the place where the run stands, `accumulate` of them for each step."""
        group: list[Batch] = []
        for place, pairs in self.epochs.start_at(self.progress.epoch, self.progress.batch):
            chosen = [int(i) for i in place.examples]
            group.append(
                make_batch([pairs[i] for i in chosen], self.data.tokenizer.special, chosen)
            )
            if len(group) == self.recipe.train.accumulate:
                self.progress.epoch, self.progress.batch = place.epoch, place.number + 1
                yield group
                group = []

    def _report(self, step: Step, log: Log, bar: TrainingProgress) -> None:
        speed = step.tokens / step.seconds
        self._speed = 0.95 * self._speed + 0.05 * speed if self._speed else speed
        if step.number % LOG_EVERY == 0 or step.number == 1:
            log.write(
                "train",
                step.number,
                loss=step.loss,
                plain_loss=step.plain_loss,
                learning_rate=step.learning_rate,
                gradient_norm=step.gradient_norm,
                padding=step.padding,
                epoch=self.progress.epoch,
            )
        bar.update(
            step=step.number,
            loss=step.plain_loss,  # what validation measures too
            learning_rate=step.learning_rate,
            tokens_per_second=self._speed,
        )

    def _validate(self, log: Log, bar: TrainingProgress) -> None:
        train, progress = self.recipe.train, self.progress
        found = validate(self.model, self.data, train.token_budget, train.bleu_sentences)
        log.write(
            "validation",
            progress.step,
            loss=found.loss,
            perplexity=found.perplexity,
            bleu=found.bleu,
        )
        if progress.best_loss is None or found.loss < progress.best_loss:
            progress.best_loss, progress.best_step, progress.since_best = (
                found.loss,
                progress.step,
                0,
            )
        else:
            progress.since_best += 1
        bar.say(f"step {progress.step:,}: {found.sentence()}")
        if cut := count_validation(train, progress, better=progress.since_best == 0):
            bar.say(f"step {progress.step:,}: {cut}")

    def _save(self) -> None:
        """A checkpoint; of the older ones, those that finish() may need are kept."""
        root, step = self.run.checkpoints, self.progress.step
        content = Checkpoint(
            self._weights(),
            optimizer_tensors(self.optimizer, self.model) | self.ema.tensors(),
            asdict(self.progress),
        )
        native.save_checkpoint(root, step, content)
        self.run.update_info(step=step, best_step=self.progress.best_step)
        keep = {*self._regular_steps()[-self.recipe.train.average :], self.progress.best_step, step}
        for old in set(native.steps_saved(root)) - keep:
            atomic.remove_folder(root / native.folder_name(old))
        self.epochs.forget_old(root, self.progress.best_step)

    def _regular_steps(self) -> list[int]:
        """Checkpoints that an uninterrupted run has too: not those written at a request to stop."""
        every = self.recipe.train.validate_every
        saved = native.steps_saved(self.run.checkpoints)
        return [s for s in saved if s % every == 0 or s == self.recipe.train.steps]

    def _ended(self) -> str | None:
        train, progress = self.recipe.train, self.progress
        if progress.step >= train.steps:
            return f"all {train.steps:,} steps are done"
        if train.minutes is not None and progress.seconds >= 60 * train.minutes:
            return f"{round(train.minutes, 2):g} minutes are over"
        return None

    def _no_better(self) -> str | None:
        patience = self.recipe.train.patience
        if patience and self.progress.since_best >= patience:
            return f"the last {patience} validations brought no better loss"
        return None
