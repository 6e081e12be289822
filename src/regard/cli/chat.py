"""`regard chat`: a conversation that keeps its turns; answers come word by word."""

import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.cli.streams import echo_answer
from regard.errors import RegardError
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.chat import Conversation

COMMANDS = {
    "/reset": "forget what was said; what --system says stays",
    "/save FILE": "write the conversation as a line of JSON, as `regard train` reads it",
    "/help": "list these commands",
    "/quit": "end, as Ctrl-D does",
}


@declare.command("""
  regard chat runs/dialogue
  regard chat runs/dialogue "My name is Nithish." "What is my name?"
  printf 'Hi.\\nHow are you?\\n' | regard chat runs/dialogue --json
  regard chat path/to/llama-chat --system "Answer in one word." --template llama2""")
@declare.model
@click.argument("text", nargs=-1)
@click.option("--system", help="A message before all others: how to answer.")
@click.option(
    "--template",
    default="",
    help="How turns become a text: plain, chatml, llama3, llama2, zephyr; default: told by the "
    "special tokens of the model, else plain.",
)
@declare.count("--max-tokens", help="Most tokens of an answer; default: 256.")
@declare.count("--beam", help="Above 1: the best of so many texts; default: the folder's.")
@click.option("--temperature", type=float, help="0 (default): always the likeliest token.")
@declare.count("--top-k", help="Draw from this many tokens only.")
@click.option("--top-p", type=float, help="Draw from the likeliest that reach this probability.")
@click.option("--seed", type=click.IntRange(min=0), help="The same seed draws the same text.")
@declare.engines(shortlist=False, heading="Options")
@declare.json("One JSON object a turn.")
def command(
    model: Path,
    text: tuple[str, ...],
    system: str | None,
    template: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Talk with MODEL: each TEXT is a turn; without TEXT, what is typed, or lines of a pipe.

    MODEL is a run of objective chat or complete, or a published decoder (GPT-2, Llama). Old turns
    that it has no room for are left out. While it answers, Ctrl-C interrupts; twice, it ends.
    """
    from regard.answer.chat import MOST_TOKENS, Conversation, chat_format
    from regard.cli.inputs import arriving, opened_with_engines
    from regard.decode.options import Sampling
    from regard.text.turns import read_messages

    device, request = options.pop("device"), declare.engine_request(options)
    chosen = {name: value for name, value in options.items() if value is not None}
    sampling = Sampling(**{"max_tokens": MOST_TOKENS, **chosen})  # a wrong option is said at once
    begin = [{"role": "system", "content": system}] if system is not None else []
    messages = read_messages(begin, "--system") if begin else []
    loaded = opened_with_engines(model, "complete", device, request)
    chat = chat_format(loaded, template)
    typed = not text and sys.stdin.isatty()
    talk = Talk(Conversation(loaded, sampling, chat, messages), as_json, typed)
    if typed:
        click.echo(f"Format: {chat.template.name}. /help lists commands, Ctrl-D ends.", err=True)
        _typed(talk)
        return
    for lines in [list(text)] if text else arriving(None):
        for line in lines:
            if not talk.hear(line):
                return


def _typed(talk: "Talk") -> None:
    """Lines from a terminal, which can be scrolled back and edited."""
    with suppress(ImportError):  # Windows has its own
        import readline  # noqa: F401  # input() has a history once it is there
    interrupts = 0
    while interrupts < 2:
        try:
            line = input("> ")
            interrupts = 0
            if not talk.hear(line):
                return
        except EOFError:
            click.echo()
            return
        except KeyboardInterrupt:
            interrupts += 1
            click.echo()  # what comes next stands on a line of its own
        except RegardError as error:
            click.echo(f"regard: {error}", err=True)


class Talk:
    """A conversation with its commands; what is no answer goes to standard error."""

    def __init__(self, conversation: "Conversation", as_json: bool, typed: bool) -> None:
        self._conversation, self._as_json, self._typed = conversation, as_json, typed
        self._saved: Path | None = None

    def hear(self, line: str) -> bool:
        """One turn or command; False where it ends the conversation."""
        if line.startswith("/"):
            return self._obey(*line.strip().partition(" ")[::2])
        if line.strip():
            self._answer(line.strip())
        return True

    def _answer(self, question: str) -> None:
        conversation, before = self._conversation, self._conversation.dropped
        heard = []
        with closing(conversation.ask(question)) as pieces:
            for piece in pieces:
                heard.append(piece)
                if not self._as_json:  # of a pipe a line in is a line out
                    echo_answer(piece if self._typed else piece.replace("\n", " "), nl=False)
        if self._as_json:
            turn = {"user": question, "assistant": "".join(heard), "dropped": conversation.dropped}
            click.echo(valid_json(turn))
        else:
            echo_answer("")
        if not heard:
            click.echo("(no answer)", err=True)
        if conversation.dropped > before:
            count = conversation.dropped
            oldest = "question and its answer" if count == 1 else f"{count} questions and answers"
            click.echo(f"(no room: the oldest {oldest} left out)", err=True)

    def _obey(self, name: str, rest: str) -> bool:
        if name == "/quit":
            return False
        if name == "/reset":
            self._conversation.reset()
            click.echo("(all forgotten)", err=True)
        elif name == "/save" and rest.strip():
            self._save(Path(rest.strip()))
        else:
            is_command = name in {command.split()[0] for command in COMMANDS}
            if not is_command:
                click.echo(f"no command {name}; there are:", err=True)
            for command, text in COMMANDS.items():
                click.echo(f"  {command:<11} {text}", err=True)
        return True

    def _save(self, path: Path) -> None:
        from regard import atomic

        if path.exists() and path != self._saved:
            click.echo(f"{path}: exists already; choose another name", err=True)
            return
        messages = [vars(message) for message in self._conversation.messages]
        try:
            atomic.write_text(path, valid_json({"messages": messages}) + "\n")
        except OSError as error:
            click.echo(f"{path}: cannot be written: {error.strerror}", err=True)
            return
        self._saved = path
        click.echo(f"Written: {path}", err=True)
