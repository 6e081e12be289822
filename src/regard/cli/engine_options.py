"""The options that say which engine works, and how it uses the machine."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from regard.cli.sections import section

if TYPE_CHECKING:
    from regard.decode.engine import Engine
    from regard.engines.engines import EngineRequest

engine = section("Engine")
NAMES = ("engine", "precision", "workers", "threads", "shortlist")


def engine_options(default: str = "auto", shortlist: bool = True) -> Callable[..., Any]:
    """All of them, and the device; `default` is the engine that is taken unless asked otherwise."""
    options = [
        engine(
            "--engine",
            type=click.Choice(["auto", "torch", "ctranslate2"]),
            default=default,
            show_default=True,
            help="Who computes.",
        ),
        engine(
            "--precision",
            type=click.Choice(["auto", "fp32", "bf16", "int8"]),
            default="auto",
            show_default=True,
            help="Of the numbers: bf16 is torch's, int8 ctranslate2's.",
        ),
        engine("--workers", type=click.IntRange(1, 1024), help="Batches side by side."),
        engine("--threads", type=click.IntRange(1, 1024), help="Threads of each worker."),
        engine("--device", default="auto", show_default=True, help="auto, cpu, cuda or mps."),
    ]
    if shortlist:
        text = "Only words that the training pairs suggest (ctranslate2)."
        options.append(engine("--shortlist", is_flag=True, help=text))

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def engine_request(options: dict[str, Any]) -> "EngineRequest":
    """What they ask for; they are taken out of `options`."""
    from regard.engines.engines import EngineRequest

    return EngineRequest(**{name: options.pop(name) for name in NAMES if name in options})


def engine_facts(engine: "Engine") -> dict[str, Any]:
    """An engine for --json."""
    return {"name": engine.name, **asdict(engine.layout)}
