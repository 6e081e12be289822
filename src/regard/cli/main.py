"""`regard COMMAND …`: a command's name leads to its file, which is loaded only when it is used.

So `regard --help` answers at once and without torch.
"""

import os
import sys
from contextlib import suppress
from importlib import import_module

import click

from regard.cli.streams import prepared
from regard.errors import RegardError, nearest
from regard.processor.caps import note_import_order
from regard.valid_json import valid_json
from regard.version import __version__

# heading → name → what `regard --help` says; a command is `command` of its file in cli/
GROUPS = {
    "Begin": {
        "demo": "Train a small translator in minutes, use it, look inside.",
        "models": "List the trained models in the box.",
        "doctor": "Say what a file of weights is; or what this machine offers.",
    },
    "Train": {
        "train": "Train a model on a recipe or on your own files.",
        "recipe": "List the recipes that regard trains by name; print one.",
        "data": "List the data sets that recipes use; fetch one.",
        "runs": "List runs: how far each came, how good it is.",
        "plot": "Draw the curves of one run or of several.",
        "phrasebook": "Look at the embedded training corpus.",
    },
    "Translate and write": {
        "translate": "Translate a text, a file or standard input.",
        "score": "How likely the model finds a given translation.",
        "generate": "Text in, text out (T5, FLAN-T5).",
        "summarize": "A text in fewer words, written or by its sentences.",
        "complete": "Go on with a text (GPT-2, Llama).",
        "chat": "Talk with a model: it remembers what was said.",
    },
    "Read and label": {
        "classify": "Label a text, where the model has a classifier.",
        "tag": "Label each word of a text.",
        "parse": "Find the tree of a sentence.",
        "answer": "Find the answer to a question in a text, or in an index.",
        "fill": "Find the words that [MASK] stands for (BERT).",
        "see": "Label an image (ViT).",
        "caption": "Say what is in an image.",
        "draw": "Draw a picture of a caption.",
        "embed": "Texts as vectors, and how alike they are.",
        "similar": "How alike two texts are; pairs against given scores.",
    },
    "Search": {
        "index": "Make a folder of text files searchable.",
        "search": "Find passages by meaning, by words, or both.",
    },
    "Serve": {
        "serve": "Models over HTTP, for other programs.",
    },
    "Measure and look inside": {
        "evaluate": "Measure BLEU and chrF; of labels accuracy and F1.",
        "explain": "Show what the model attended to.",
        "walk": "Every number of one pass, as by hand.",
        "positions": "Draw positional encoding.",
        "lab": "Claims about Transformers as experiments that can fail.",
    },
    "Convert": {
        "convert": "A published model to regard's own files, and back.",
        "verify": "Does a model still answer as it did?",
    },
}
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
COMPLETION = "_REGARD_COMPLETE"  # what a shell sets when it asks for names (click's own variable)


class Commands(click.Group):
    """A group whose commands are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        note_import_order()
        command = vars(import_module(f"regard.cli.{cmd_name}"))["command"]
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            raise click.UsageError(f"no command {args[0]!r}{nearest(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))  # the same column under every heading
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{n:<{widest}}", text) for n, text in commands.items()])


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: regard train --source train.en --target train.de --minutes 30",
)
@click.version_option(__version__, prog_name="regard")
def group() -> None:
    """The Transformer of "Attention Is All You Need": train it, use it, look inside."""


def _leave_at_once() -> None:
    """End without waiting for threads that still have work, which may take half a minute.

    What must be kept is written by then: a training saves before its interrupt comes this far.
    """
    with suppress(OSError):  # nobody may be listening any more
        click.echo("\nStopped.", err=True)
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(130)


def main() -> None:
    """The entry point: errors of ours end in one sentence and their exit code."""
    if COMPLETION in os.environ:  # a shell asks, in bytes; there is nothing to make printable
        group()
    with prepared():
        _run()


def _run() -> None:
    try:
        group(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _leave_at_once()
    except RegardError as error:
        click.echo(f"regard: {error}", err=True)
        if "--json" in sys.argv:  # for a program that reads the answers: the parts of the sentence
            click.echo(valid_json({"error": type(error).__name__, **vars(error)}), err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # nobody reads any more, as after `| head -1`: nothing to say
        sys.exit(1)
    except OSError as error:  # no space, no permission, a folder where a file should be
        click.echo(f"regard: {error.filename or 'file'}: {error.strerror or error}", err=True)
        sys.exit(1)
