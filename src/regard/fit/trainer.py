"""Training, put together: the one place where loop, validation, log and checkpoints meet.

batches → steps → each step: log; now and then: validate, checkpoint → final weights
"""

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, replace
from time import monotonic

import torch
from torch import Tensor, nn

from regard import atomic
from regard.checkpoint.files import steps_saved
from regard.checkpoint.guard import load_into
from regard.checkpoint.training_state import Checkpoint, newest_whole
from regard.config import build, to_tables
from regard.data.batch import Batch
from regard.draw.terminal.progress import TrainingProgress
from regard.errors import CheckpointError, DamageError
from regard.fit.autotune import choose_compute, measured
from regard.fit.checkpoints import CheckpointManager
from regard.fit.divergence import note_step
from regard.fit.ending import ASKED, Outcome, ended, ended_by, over
from regard.fit.final import choose_final, final_candidates, lower_is_better, write_final
from regard.fit.job import FirstWeights, Job, Validated
from regard.fit.preflight import steps_within
from regard.fit.remains import what_can_be_done
from regard.fit.report import Reporter, ShortOfMemory
from regard.fit.signals import Stopped, StopRequest
from regard.fit.warm_start import check_digest, first_weights_digest
from regard.model.device import choose_device
from regard.model.lora import Lora
from regard.model.transformer import Transformer
from regard.printable import Say
from regard.runs import rates
from regard.runs.folder import RunFolder, write_own_json
from regard.runs.log import Listener, Log, damage_to_log, log_checksum, records_until
from regard.runs.sections import Recipe
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.ema import MovingAverage
from regard.training.freeze import freeze
from regard.training.loop import Step, training_steps
from regard.training.memory_limit import SPARE, memory_limit
from regard.training.optimizer import make_adam, optimizer_tensors, restore_optimizer
from regard.training.state import Progress
from regard.training.watch import go_on_from, reason_to_skip
from regard.version import __version__

Rate = Callable[[int], float]  # of each step, counted from 1
Show = Callable[[int], AbstractContextManager[TrainingProgress]]  # from the step it begins at


class Trainer:
    """One training of one run; `start` begins, `resume` continues from the last checkpoint."""

    def __init__(self, run: RunFolder, recipe: Recipe, job: Job, device: str | None = None) -> None:
        self.run, self.recipe, self.job = run, recipe, job
        self.device = choose_device(device or recipe.train.device)
        self.model = Transformer(job.spec, seed=recipe.train.seed)
        freeze(self.model, recipe.train.freeze)
        self.model.to(self.device)
        self.optimizer = make_adam(self.model)
        self.ema = MovingAverage(self.model, recipe.train.ema)
        self.learned: nn.Module = self.model  # what the optimizer moves
        self.lora: Lora | None = None
        self.progress = Progress()
        self.checkpoints = CheckpointManager(run)
        self.compute = Compute()
        self.speeds: dict[str, float] = {}  # of each way to compute that was measured
        self.first_weights = FirstWeights()  # where the first weights come from
        self._clock_zero = 0.0  # the time of the first step, had it never been stopped
        self._reporter = Reporter()
        self._short_of_memory = ShortOfMemory()

    def start(self) -> None:
        """Write down what this run is, before its first step."""
        self.first_weights = self.job.start_weights(self.model)
        self.adapt(self.first_weights.warm.new if self.first_weights.warm else ())
        self._choose_compute()
        expected = self._expect()
        warm = self.first_weights.warm is not None
        begun = {"begun_from": first_weights_digest(self._weights())} if warm else {}
        write_own_json(self.run.recipe, self.recipe.tables())
        write_own_json(self.run.spec, to_tables(self.model.spec))
        self.run.update_info(
            regard=__version__,
            python=platform.python_version(),
            device=str(self.device),
            state="training",
            **({} if expected is None else {"expected_steps": expected}),
            **begun,
        )

    def _expect(self) -> float | None:
        """By minutes: how many steps they allow, as the self-test was, and what follows from it."""
        train = self.recipe.train
        if train.minutes is None:
            return None
        expected = steps_within(self.job, train, self.speed())
        steps = min(expected, train.last_step or expected)
        self.recipe = replace(self.recipe, train=rates.with_warmup_and_interval(train, steps))
        self.progress.expected = expected
        return expected

    def adapt(self, new: Sequence[str] | None = None) -> None:
        """If the recipe asks for LoRA: train small matrices beside the weights of this moment, and
        `new`, those from chance, as they are; without it, the names that the run has kept."""
        section = self.recipe.lora
        if not section.rank:
            return
        if new is None:
            new = self.run.read_info()["new_weights"]
        else:
            self.run.update_info(new_weights=list(new))
        seed = self.recipe.train.seed
        self.learned = self.lora = lora = Lora(
            self.model, section.rank, section.alpha, section.maps, new, seed
        )
        self.optimizer = make_adam(lora, after=lora.put)
        self.ema = MovingAverage(self.model, self.recipe.train.ema)

    def _choose_compute(self) -> None:
        """Measure how to compute a step, and write down what the last bits depend on."""
        train, device = self.recipe.train, self.device
        tuned = choose_compute(self.model, self.job.loss_of, self._groups, train, device)
        self.compute, self.speeds = tuned.compute, tuned.speeds
        self.progress = Progress()  # the self-test took batches
        self.run.update_info(**tuned.record())

    def resume(self, say: Say, anew: bool = False) -> None:
        """Take up the last whole checkpoint: weights, optimizer, place in the data, way to compute.

        Precision, workers and threads decide the order of sums, so the bits depend on them; `anew`
        chooses them again.
        """
        for folder in (self.run.checkpoints, self.run.folder, self.run.data):
            atomic.sweep(folder)
        self.adapt()
        try:
            is_taken_up = self._take_up(steps_saved(self.run.checkpoints), say)
        except DamageError as error:
            raise CheckpointError(f"{error}. {what_can_be_done(self.run)}") from None
        if anew:
            kept = replace(self.progress)
            self._choose_compute()
            self.progress = kept
        else:
            self.compute = build(Compute, self.run.read_info()["compute"], str(self.run.info))
        if not is_taken_up:
            # stopped before its first checkpoint: it begins again
            self.first_weights = self.job.start_weights(self.model)
            self.adapt()
            self.progress.expected = float(self.run.read_info().get("expected_steps", 0))
            if self.job.begins_with is not None:
                stated = self.run.read_info().get("begun_from")
                check_digest(self._weights(), stated, self.job.begins_with)
        progress = self.progress
        records = records_until(self.run.log, progress.step, progress.logged)
        if damage := damage_to_log(self.run.log, records, progress.log_sha256):
            say(f"Warning: {damage}.")
        self.run.update_info(state="training", ended="", log_sha256="")

    def _take_up(self, steps: list[int], say: Say) -> bool:
        """Stand where the last whole one of these checkpoints stood; False if there is none."""
        newest = newest_whole(self.run.checkpoints, steps, self._weights(), say)
        if newest is None:
            return False
        step, checkpoint = newest
        load_into(self.model, checkpoint.weights)
        tensors = self.ema.restore(checkpoint.optimizer)
        if self.lora is not None:
            tensors = self.lora.restore(tensors)
        restore_optimizer(self.optimizer, self.learned, tensors)
        self.progress = build(Progress, checkpoint.state, f"step {step}: state.json")
        return True

    def train(self, stop: StopRequest, show: Show, listener: Listener) -> Outcome:
        """Step until the recipe's end, early stopping or a request to stop; then say why."""
        with closing(self.data_parallel()) as workers:
            return self._steps_until_end(workers, stop, show, listener)

    def _steps_until_end(
        self, workers: DataParallel, stop: StopRequest, show: Show, listener: Listener
    ) -> Outcome:
        done, steps = self.progress.step, self.steps(workers)
        with (
            Log(self.run.log, self.run.tensorboard, done, self.progress.logged, listener) as log,
            show(done) as bar,
        ):
            self._clock_zero = monotonic() - self.progress.seconds
            if self.first_weights.coverage is not None:
                log.write("embeddings", 0, **asdict(self.first_weights.coverage))
            if self.first_weights.warm is not None:
                log.write("start", 0, **asdict(self.first_weights.warm))
            if self.progress.validate_first:
                self._validate(log, bar, stop)
                self._save(log, bar)
            reason = over(self.recipe.train, self.progress)
            while reason is None and not self.progress.validate_first:
                step = next(steps)
                if step.skip_reason is None:
                    self.ema.update(step.number)
                self.progress.step = step.number
                self.progress.tokens += step.tokens
                self.progress.most_cells = workers.most
                self._look_at_the_clock()
                self._reporter.tell(step, self.progress.epoch, log, bar)
                self._short_of_memory.tell(workers, step.number, log, bar)
                if self._go_back_if_needed(step, log, bar):
                    steps = self.steps(workers)
                    continue
                reason = ended(self.recipe.train, self.progress)
                due = rates.validation_due(self.recipe.train, self.progress)
                if due or reason:
                    self._validate(log, bar, stop, at_the_end=reason is not None)
                    reason = reason or over(self.recipe.train, self.progress)
                stopping = stop.signal is not None
                if due or reason or stopping:
                    self._save(log, bar)
                if stopping and reason is None:
                    break
        outcome = Outcome(
            self.progress.step,
            reason or ASKED,
            self.run.folder,
            unsaved=self.checkpoints.unsaved,
            unlogged=log.unwritten,
            board_failed=log.board_failed,
        )
        if reason is None or self.progress.validate_first:
            self.checkpoints.note(state="stopped")
            return replace(outcome, reason=ASKED, signal=stop.signal)
        self.checkpoints.note(ended=ended_by(self.recipe.train, self.progress))
        return outcome

    def _look_at_the_clock(self) -> None:
        self.progress.seconds = monotonic() - self._clock_zero

    def steps(self, workers: DataParallel, rate_at: Rate | None = None) -> Iterator[Step]:
        """The steps from where the run stands, at the recipe's rates unless others are given."""
        return training_steps(
            self.learned,
            self.optimizer,
            self._groups(),
            workers.gradients,
            rate_at or self._rate,
            self.recipe.train.clip,
            self.progress.step + 1,
            lambda loss, norm: reason_to_skip(loss, norm, self.progress.recent),
        )

    def data_parallel(self) -> DataParallel:
        """The workers for this model, computing as was chosen."""
        most, seed = self.progress.most_cells, self.recipe.train.seed
        return DataParallel(self.model, self.job.loss_of, self.compute, seed, most, self.lora)

    def memory_limit(self) -> AbstractContextManager[bool]:
        """The limit for this process, such that all workers keep to the recipe's together."""
        return memory_limit(self.recipe.train.memory, SPARE, self.compute.workers)

    def speed(self) -> float:
        """Tokens per second, as the self-test measured it, or measured now."""
        speed = self.speeds.get(str(self.compute))
        if speed is None:
            train = self.recipe.train
            speed = measured(self.model, self.job.loss_of, self._groups, self.compute, train)
            self.speeds[str(self.compute)] = speed
            self.progress.epoch = self.progress.batch = 0  # it took batches
        return speed

    def _go_back_if_needed(self, step: Step, log: Log, bar: TrainingProgress) -> bool:
        """Note how the step went; after several bad ones return to a checkpoint's weights (True).

        The place in the data stays: the batches on the way to the trouble are not used again.
        """
        left = self.progress
        if not note_step(step, left, self.checkpoints, self.job.examples, log, bar.say):
            return False
        if not self._take_up(self.checkpoints.regular_steps(self.recipe.train), bar.say):
            return False
        go_on_from(self.progress, left)
        log.write("rollback", step.number, to=self.progress.step)
        bar.say(
            f"step {step.number:,}: back to the weights of step {self.progress.step:,}; "
            "the batches since then are left out"
        )
        return True

    def finish(self, stop: StopRequest, say: Say) -> str:
        """Choose the final weights; the sentence that says which.

        A request to stop ends the choice (`Stopped`): a resumed run makes it again, and comes to
        the same. It no longer ends the writing, which takes a moment.
        """
        train = self.recipe.train
        try:
            with stop.at_once():
                candidates = final_candidates(
                    self.model, self.progress, self.checkpoints, train, say
                )
                candidates |= self.ema.candidate(self._weights())
                chosen = choose_final(self.model, candidates, self._validation, train)
        except Stopped:
            self.checkpoints.note(state="stopped")
            raise
        self.checkpoints.check_place()
        write_final(self.run, candidates[chosen.name], chosen)
        log = log_checksum(self.run.log)
        self.run.update_info(state="finished", step=self.progress.step, log_sha256=log)
        return chosen.sentence()

    def _weights(self) -> dict[str, Tensor]:
        return dict(self.model.named_parameters())

    def _rate(self, step: int) -> float:
        return rates.rate_at(step, self.recipe.train, self.model.spec.d_model, self.progress)

    def _groups(self) -> Iterator[list[Batch]]:
        """Batches from the place where the run stands, `accumulate` of them for each step."""
        group: list[Batch] = []
        for place, batch in self.job.batches(self.progress.epoch, self.progress.batch):
            group.append(batch)
            if len(group) == self.recipe.train.accumulate:
                self.progress.epoch, self.progress.batch = place.epoch, place.number + 1
                yield group
                group = []

    def _validate(
        self, log: Log, bar: TrainingProgress, stop: StopRequest, at_the_end: bool = False
    ) -> None:
        """Measure, unless asked to stop: then the resumed run begins with it."""
        progress = self.progress
        progress.validate_first = True
        quick = not at_the_end and rates.validation_is_dear(self.recipe.train, progress)
        try:
            with stop.at_once():
                validated = self._validation(quick)
        except Stopped:
            return
        progress.validate_first = False
        seconds_before = progress.seconds
        self._look_at_the_clock()
        progress.validated = progress.seconds
        if not quick:
            progress.validation_seconds = progress.seconds - seconds_before
        log.write("validation", progress.step, loss=validated.loss, **validated.numbers)
        better = progress.note_validation(lower_is_better(validated, self.recipe.train))
        bar.say(f"step {progress.step:,}: {validated.sentence()}")
        if cut := rates.count_validation(self.recipe.train, progress, better):
            bar.say(f"step {progress.step:,}: {cut}")

    def _validation(self, quick: bool = False) -> Validated:
        """Loss and scores of the model as it is, by all cores of the workers."""
        compute = self.compute
        torch.set_num_threads(compute.workers * compute.threads)
        try:
            return self.job.validation(self.model, quick)
        finally:
            torch.set_num_threads(compute.threads)

    def _save(self, log: Log, bar: TrainingProgress) -> None:
        """A checkpoint; of the older ones, those that finish() may need are kept."""
        log.sync()
        if log.unwritten:
            bar.say(f"ERROR: step {self.progress.step:,}: {log.unwritten}; they wait in memory")
        self.progress.logged, self.progress.log_sha256 = log.records, log.checksum
        every = self.recipe.train.validate_every
        if not every or self.progress.step % every == 0:
            self.progress.rollbacks = 0  # they are counted for one checkpoint
        content = Checkpoint(self._weights(), self.optimizer_tensors(), asdict(self.progress))
        self.checkpoints.save(content, self.progress, self.recipe.train, bar.say)
        self.job.forget_old(self.run.checkpoints, self.progress.best_step)

    def optimizer_tensors(self) -> dict[str, Tensor]:
        """Of a checkpoint, beside the weights: Adam's moments, averages, LoRA's A and B."""
        moments = optimizer_tensors(self.optimizer, self.learned)
        return moments | self.ema.tensors() | (self.lora.tensors() if self.lora else {})
