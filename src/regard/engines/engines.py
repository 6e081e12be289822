"""Which engine answers: the one that was asked for, or the faster one that offers the options.

The engines themselves lie in decode/engines/.

auto          ctranslate2, if it is installed, agrees with torch, is faster and offers the
              decoding options; else torch (bundle/engine_choice.py keeps what was measured)
torch         every option, family and device
ctranslate2   on a CPU; an option that it does not offer is an error

Nothing here imports torch until the torch engine is taken, or something must be measured.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from regard.bundle.bundle import Bundle
from regard.bundle.engine_choice import (
    Choice,
    default_layout,
    engines_locked,
    read_choice,
    write_choice,
)
from regard.decode.engine import Engine, Layout
from regard.decode.options import DecodingOptions
from regard.engines.converted import converted_engine
from regard.engines.work import work_of
from regard.errors import MisuseError, RegardError
from regard.printable import Say, to_log
from regard.processor.machine import this_machine
from regard.processor.survives import ruled_out

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

NAMES = ("auto", "torch", "ctranslate2")
PRECISIONS = ("auto", "fp32", "bf16", "int8", "int16")  # int16 is for `embed` alone
PREPARING = "Preparing the fast engine (once) …"
MOST_BYTES = 4_000_000_000  # of weights that are converted without being asked


@dataclass(frozen=True)
class EngineRequest:
    """What a user wants of the engine; None and "auto": as it was chosen."""

    engine: str = "auto"
    precision: str = "auto"
    workers: int | None = None
    threads: int | None = None
    shortlist: bool = False

    def __post_init__(self) -> None:
        for name, choices in (("engine", NAMES), ("precision", PRECISIONS)):
            if vars(self)[name] not in choices:
                listed = ", ".join(choices)
                raise MisuseError(name, got=vars(self)[name], expected=f"one of {listed}")
        for name in ("workers", "threads"):
            value = vars(self)[name]
            if value is not None and not 1 <= value <= 1024:
                raise MisuseError(name, got=value, expected="1 to 1024")
        if self.engine == "torch" and (self.precision == "int8" or self.shortlist):
            what = "a shortlist" if self.shortlist else "precision int8"
            raise MisuseError(f"engine: torch does not offer {what}; use --engine ctranslate2")
        if self.engine == "ctranslate2" and self.precision == "bf16":
            raise MisuseError("engine: ctranslate2 is offered in fp32 and int8; bf16 is torch's")


class Engines:
    """The engines of one model, each opened when it is first taken."""

    def __init__(
        self,
        bundle: Bundle,
        transformer: "Callable[[], Transformer]",
        device: str = "auto",
        request: EngineRequest | None = None,
        say: Say = to_log,
    ) -> None:
        self.bundle, self.request, self.say = bundle, request or EngineRequest(), say
        self._transformer, self._device, self._work = transformer, device, work_of(bundle)
        if self.request.precision == "int16":
            raise MisuseError("precision: int16 is for embed; translations have fp32, bf16, int8")
        if self.request.shortlist and self._work.task != "translate":
            raise MisuseError("shortlist: is for translations")
        self.notes: list[str] = []  # why an engine was taken; the log has them too
        self._choice = bundle.choice
        self._open: dict[str, Engine] = {}

    def take(self, decoding: DecodingOptions, prefixed: bool = False, length: int = 0) -> Engine:
        """The engine for these options, and for a prompt and what follows it of this length."""
        engine = self._fast(decoding, prefixed, length)
        if engine is None:
            engine = self._torch()
        self._note(f"engine: {describe(engine)}")
        return engine

    def take_to_score(self) -> Engine:
        """The engine that says how likely an output is: the reference, unless another is named."""
        if self.request.engine == "ctranslate2":
            return self.take(DecodingOptions(beam=1))
        if self.request.precision == "bf16":
            raise MisuseError("precision", "scores are computed in fp32", advice="leave out bf16")
        return self._torch()

    def close(self) -> None:
        """Give threads and memory back."""
        for engine in self._open.values():
            engine.close()
        self._open.clear()

    def _fast(self, decoding: DecodingOptions, prefixed: bool, length: int) -> Engine | None:
        """The ctranslate2 engine, or None and a note that says why not."""
        if self.request.engine == "torch":
            return None
        named = self.request.engine == "ctranslate2"
        obstacle = self._obstacle() or self._not_offered(decoding, prefixed, length)
        if obstacle and named:
            raise MisuseError("engine", obstacle)
        if not obstacle and "ctranslate2" not in self._open:
            try:
                choice = self._measured_choice()
                if choice.engine == "torch" and not named:
                    obstacle = choice.reason
                else:
                    self._open["ctranslate2"] = self._opened(choice)
            except (RegardError, OSError) as error:
                if named:
                    raise
                obstacle = str(error)
        if not obstacle and "ctranslate2" in self._open:
            return self._open["ctranslate2"]
        self._note(f"torch, because {obstacle}")
        return None

    def _obstacle(self) -> str:
        """What stands in the way of ctranslate2 before any option is looked at."""
        if self.request.precision == "bf16":
            return "bf16 is torch's precision"
        if find_spec("ctranslate2") is None:
            return "ctranslate2 is not installed; pip install 'regard[fast]'"
        if not self._on_cpu():
            return "ctranslate2 is used on a CPU only"
        if self.bundle.obstacle:
            return self.bundle.obstacle
        size = sum(file.stat().st_size for file in self.bundle.weights)
        if size > MOST_BYTES and self._choice is None and self.request.engine == "auto":
            return (
                f"{size / 1e9:.1f} GB of weights would be written again, twice; "
                "--engine ctranslate2 does that"
            )
        if self._choice is None and not os.access(self.bundle.path, os.W_OK):
            return f"{self.bundle.path} cannot be written to, so nothing can be kept there"
        if self._without_torch:
            return self._chosen_elsewhere()
        deadly = ruled_out("ctranslate2")
        return f"this machine does not survive {deadly}" if deadly else ""

    @property
    def _without_torch(self) -> bool:
        """A server may be installed without it (docs/deploy.md)."""
        return find_spec("torch") is None

    def _chosen_elsewhere(self) -> str:
        """What stands in the way where there is no torch, with which the library is tried.

        What was tried where the choice was made holds for processors of the same name.
        """
        if self._choice is None:
            return "torch is not installed, and no engine was chosen for this model where it is"
        cpu = self._choice.machine.cpu
        if cpu != this_machine().cpu:
            return f"torch is not installed, and the engine was chosen on another processor, {cpu}"
        return ""

    def _on_cpu(self) -> bool:
        if self._without_torch:
            return self._device in ("auto", "cpu")
        if self._device == "auto":
            # A choice that was made on this machine says that it has nothing faster.
            if self._choice is not None and self._choice.machine == this_machine():
                return True
            from regard.model.device import choose_device  # imports torch

            return choose_device("auto").type == "cpu"
        return self._device == "cpu"

    def _not_offered(self, decoding: DecodingOptions, prefixed: bool, length: int) -> str:
        """Which option ctranslate2 does not offer; nothing if it offers all."""
        refusal = self._work.refused(decoding, prefixed, length)
        return f"ctranslate2 does not offer {refusal}" if refusal else ""

    def _note(self, line: str) -> None:
        if line not in self.notes:
            self.notes.append(line)
            to_log(line)

    def _measured_choice(self) -> Choice:
        """The stored choice; what is missing is measured now, under a lock."""
        choice = self._choice
        if choice is not None and choice.machine == this_machine():
            return choice
        if self._without_torch or not os.access(self.bundle.path, os.W_OK):
            assert choice is not None
            count = this_machine().cores
            self._note("the layout was measured on another machine and cannot be stored here")
            layouts = {n: replace(x, workers=count, threads=1) for n, x in choice.layouts.items()}
            return replace(choice, layouts=layouts)
        with engines_locked(self.bundle.path):
            choice = read_choice(self.bundle.path, self.bundle.weights)  # by another, meanwhile?
            if choice is None or choice.machine != this_machine():
                self.say(PREPARING)
                from regard.engines.autotune import autotune  # measures with torch

                choice = autotune(self.bundle, self._transformer, choice, say=self.say)
                write_choice(self.bundle.path, choice)
        self._choice = choice
        return choice

    def _opened(self, choice: Choice) -> Engine:
        """The ctranslate2 engine in the precision and layout chosen or asked for."""
        precision = self.request.precision
        if precision == "auto":
            precision = choice.precision
            deadly = ruled_out("int8") if precision == "int8" else ""
            if deadly:  # the choice may have been made elsewhere
                self._note(f"fp32, because this machine does not survive {deadly}")
                precision = "fp32"
        elif not choice.checks.get(f"ctranslate2 {precision}", {}).get("passed", False):
            self._note(f"{precision} did not pass the check that auto insists on")
        layout = self._laid_out(choice.layout("ctranslate2", precision))
        shortlist = self.request.shortlist
        return converted_engine(
            self.bundle, self._transformer, choice.weights, layout, shortlist, self.say
        )

    def _torch(self) -> Engine:
        if "torch" not in self._open:
            if self._without_torch:
                reason = self.notes[-1] if self.notes else "torch was asked for"
                raise MisuseError("torch", f"is not installed ({reason})", advice="install it")
            precision = self.request.precision
            if precision == "int8" or self.request.shortlist:
                what = "a shortlist" if self.request.shortlist else "precision int8"
                reason = self.notes[-1] if self.notes else "it was taken"
                raise MisuseError("engine", f"torch does not offer {what} ({reason})")
            precision = "fp32" if precision == "auto" else precision
            measured = self._choice.layouts.get("torch fp32") if self._choice else None
            layout = replace(measured or default_layout(), precision=precision)
            laid_out = self._laid_out(layout)
            self._open["torch"] = self._work.with_torch(self._transformer(), laid_out)
        return self._open["torch"]

    def _laid_out(self, layout: Layout) -> Layout:
        """The layout with what was asked for."""
        workers, threads = self.request.workers, self.request.threads
        count = this_machine().cores
        if workers is None and threads is None:
            return layout
        if workers is None:
            workers = max(1, count // (threads or 1))
        return replace(layout, workers=workers, threads=threads or max(1, count // workers))


def describe(engine: Engine) -> str:
    """An engine in a few words."""
    layout = engine.layout
    workers = f"{layout.workers} worker{'s' * (layout.workers > 1)}"
    threads = f"{layout.threads} thread{'s' * (layout.threads > 1)}"
    return f"{engine.name} {layout.precision}, {workers} × {threads}"
