"""`regard chat` and `Model.chat`: turns are kept, dropped, saved; in a pipe and in a terminal."""

import fcntl
import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
import torch
import transformers
from click.testing import CliRunner, Result

import folders
import regard
from halting import go
from regard.answer.chat import chat_format, cut_off, stream_answer
from regard.answer.complete import Completer, sampling_with
from regard.cli.main import group
from regard.errors import DataError, MisuseError
from regard.fit.train import Request
from regard.text.turns import read_messages

pytestmark = pytest.mark.end_to_end
ANIMALS = {"cat": "purrs", "dog": "barks", "bird": "sings"}
PLAIN = (
    "{% for m in messages %}{% if m['role'] == 'user' %}{{ 'User: ' + m['content'] + '\n' }}"
    "{% else %}{{ 'Assistant: ' + m['content'] + eos_token + '\n' }}{% endif %}{% endfor %}"
    "{{ 'Assistant:' }}"
)


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that says what an animal does, and remembers the animal."""
    folder = tmp_path_factory.mktemp("talker")
    rows = []
    for number in range(400):
        animal = list(ANIMALS)[number % 3]
        contents = [f"a {animal} {number % 7}", f"it {ANIMALS[animal]}"]
        contents += ["which animal", f"the {animal}"]
        roles = ("user", "assistant") * 2
        turns = [{"role": r, "content": c} for r, c in zip(roles, contents, strict=True)]
        rows.append({"kind": animal, "messages": turns[: 2 + 2 * (number % 2)]})
    for name, part in {"train": rows[:-40], "valid": rows[-40:]}.items():
        text = "".join(json.dumps(row) + "\n" for row in part)
        (folder / f"{name}.jsonl").write_text(text)
    (folder / "own.toml").write_text(
        f'objective = "chat"\n[data]\ntexts = "{folder / "train.jsonl"}"\n'
        f'valid_texts = "{folder / "valid.jsonl"}"\n'
    )
    changes = (
        "model.preset=llama-tiny", "model.d_model=32", "model.decoder_layers=2", "model.heads=2",
        "model.ffn_size=64", "tokenizer.kind=words", "tokenizer.size=60", "data.max_tokens=64",
        "train.schedule=constant", "train.rate=0.005", "train.warmup=1", "train.steps=150",
        "train.validate_every=150", "train.token_budget=512", "train.label_smoothing=0.0",
        "train.workers=1", "train.threads=1", "train.precision=fp32",
    )  # fmt: skip
    go(Request(folder / "own.toml", assignments=changes, folder=folder / "run"))
    return folder / "run"


def run(*words: object, text: str = "", code: int = 0) -> Result:
    result = CliRunner().invoke(group, list(map(str, words)), input=text)
    assert result.exit_code == code, result.output
    return result


def test_turns_are_kept(talker: Path) -> None:
    turns = ("a dog 3", "which animal", "a bird 1", "which animal")
    for engine in ("torch", "auto", "auto"):
        result = run("chat", talker, *turns, "--engine", engine)
        assert result.stdout == "it barks\nthe dog\nit sings\nthe bird\n"
    assert result.stderr == ""


def test_a_pipe_is_a_turn_a_line(talker: Path, tmp_path: Path) -> None:
    saved = tmp_path / "talk.jsonl"
    lines = ["a cat 1", "", "/what", f"/save {saved}", "which animal", f"/save {saved}", "/reset",
             "a dog 2", f"/save {talker / 'run.json'}", "/save", "/quit", "a bird 1"]  # fmt: skip
    result = run("chat", talker, text="\n".join(lines))
    assert result.stdout == "it purrs\nthe cat\nit barks\n"
    said = result.stderr
    assert "no command /what; there are:" in said and "(all forgotten)" in said
    assert f"{talker / 'run.json'}: exists already" in said
    assert said.count("Written:") == 2 and said.count("/reset") == 2  # listed for /what and /save
    messages = json.loads(saved.read_text())["messages"]
    assert [m["content"] for m in messages] == ["a cat 1", "it purrs", "which animal", "the cat"]


def test_json_is_an_object_a_turn(talker: Path) -> None:
    lines = run("chat", talker, "--json", text="a cat 1\nwhich animal\n").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"user": "a cat 1", "assistant": "it purrs", "dropped": 0},
        {"user": "which animal", "assistant": "the cat", "dropped": 0},
    ]


def test_the_oldest_turns_make_room(talker: Path) -> None:
    """Twelve tokens a turn in a window of 64, of which 16 are for the answer."""
    result = run("chat", talker, "--json", *["a dog 1"] * 8)
    dropped = [json.loads(line)["dropped"] for line in result.stdout.splitlines()]
    assert dropped[:3] == [0, 0, 0] and dropped[-1] > 1
    assert "(no room: the oldest question and its answer left out)" in result.stderr
    long = run("chat", talker, "a dog " * 60, code=1)
    assert re.search(r"the question has \d+ tokens, this model holds 64", str(long.exception))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--template", "chatlm"), "template: 'chatlm' is not known"),
        (("--template", "chatml"), "the template chatml needs <|im_end|>"),
        (("--system", " "), "content: the text of this system is empty"),
        (("--top-k", "3"), "top_k: at temperature 0"),
    ],
)
def test_wrong_options_are_named(words: tuple[str, ...], error: str, talker: Path) -> None:
    result = CliRunner().invoke(group, ["chat", str(talker), "a cat 1", *words])
    assert error in str(result.exception or result.output)


def test_a_special_token_is_no_text(talker: Path) -> None:
    result = CliRunner().invoke(group, ["chat", str(talker), "a </s> cat"])
    assert isinstance(result.exception, DataError)
    assert "user: the text holds </s>" in str(result.exception)


def test_answers_are_those_of_transformers(tmp_path: Path) -> None:
    """The same ids in, the same greedy tokens out; one conversation or several."""
    twin = folders.gpt2(tmp_path / "gpt2").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "gpt2")
    model = regard.load(tmp_path / "gpt2", "cpu")
    one = [{"role": "user", "content": "the cat"}]
    two = [*one, {"role": "assistant", "content": "sat"}, {"role": "user", "content": "a dog"}]
    expected = []
    for messages in (one, two):
        ids = tokenizer(
            tokenizer.apply_chat_template(messages, chat_template=PLAIN, tokenize=False)
        )["input_ids"]
        made = twin.generate(
            torch.tensor([ids]), max_new_tokens=9, do_sample=False, pad_token_id=0
        )[0, len(ids) :]
        text = tokenizer.decode(made, skip_special_tokens=True)
        expected.append(text.partition("\nUser:")[0].strip())
    assert any(expected)
    assert model.chat(one, max_tokens=9) == expected[0]
    assert model.chat(two, max_tokens=9) == expected[1]
    assert model.chat([one, two], max_tokens=9) == expected
    assert model.chat([]) == []
    assert "chat" in dir(model)
    with pytest.raises(MisuseError, match="chat: got str, expected messages"):
        model.chat("Hi.")  # type: ignore[call-overload]
    with pytest.raises(MisuseError, match="last message is of the assistant"):
        model.chat(two[:2])
    with pytest.raises(MisuseError, match="chat: unknown option 'temprature'"):
        model.chat(one, temprature=1.0)  # type: ignore[call-overload]
    with pytest.raises(DataError, match="chat: message 1: role 'robot'"):
        model.chat([{"role": "robot", "content": "Hi."}])


@pytest.mark.parametrize("options", [{}, {"temperature": 1.0, "seed": 3}, {"max_tokens": 1}])
def test_many_conversations_are_each_alone(talker: Path, options: dict[str, float]) -> None:
    """Answered together, each has the answer that it has when it is streamed by itself."""
    model = regard.load(talker, "cpu")
    said = [
        [{"role": "user", "content": f"a {animal} {n}"}] for animal in ANIMALS for n in range(7)
    ]
    said[::2] = [
        [
            *turns,
            {"role": "assistant", "content": "yes"},
            {"role": "user", "content": "which animal"},
        ]
        for turns in said[::2]
    ]
    sampling = sampling_with({"max_tokens": 9, **options})
    chat = chat_format(model)
    alone = [
        "".join(stream_answer(model, read_messages(turns, "chat"), sampling, chat))
        for turns in said
    ]
    assert model.chat(said, **{"max_tokens": 9, **options}) == alone
    assert len(set(alone)) > 1


def test_an_end_that_is_not_the_model_s_own(talker: Path) -> None:
    """As that of a turn in chatml: rows together end there as one that is streamed does."""
    model = regard.load(talker, "cpu")
    completer = Completer(model, sampling_with({"max_tokens": 8}))
    rows = [completer.row(text) for text in ("a cat", "a dog 3", "a bird", "which animal")]
    some = [continuations[0].ids for continuations in completer.rows_searched(rows)]
    end = some[0][1]
    ended = [continuations[0] for continuations in completer.rows_searched(rows, {end})]
    assert [one.text for one in ended] == [
        "".join(completer.stream_row(row, {end})) for row in rows
    ]
    assert ended[0].ids == some[0][:1] and ended[0].finished
    assert all(end not in one.ids for one in ended)


def test_evaluate_counts_exact_answers(talker: Path) -> None:
    model = regard.load(talker, "cpu")
    assert model.tasks == ("chat", "complete")
    scores = model.evaluate()
    assert vars(scores)["dialogues"] == 40 and vars(scores)["exact"] == 1.0
    changed = talker.parent / "changed.jsonl"
    lines = (talker.parent / "valid.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    first["messages"][-1]["content"] = "nothing"
    changed.write_text("\n".join([json.dumps(first), *lines[1:]]))
    printed = run("evaluate", talker, "--file", changed).stdout
    assert "40 conversations of" in printed and "exact  97.50%" in printed
    assert "expected nothing" in printed and re.search(r"cat +1[34] +9[23]\.\d%", printed)
    as_json = json.loads(run("evaluate", talker, "--file", changed, "--json").stdout)
    assert as_json["exact"] == pytest.approx(0.975) and len(as_json["wrong"]) == 1


@pytest.mark.parametrize(
    ("pieces", "stop", "expected"),
    [
        ([" I am", " fine", ".", "\n"], "\nUser:", ["I am", " fine", "."]),
        ([" ", "\n", " a"], "", ["a"]),
        (["Hi", "\nUs", "er", ": more", " and more"], "\nUser:", ["Hi"]),
        (["Hi", "\nUs", "ually"], "\nUser:", ["Hi", "\nUsually"]),
        (["a\n\nb", "\n"], "\nUser:", ["a\n\nb"]),
        ([], "\nUser:", []),
    ],
)
def test_an_answer_ends_where_the_next_question_begins(
    pieces: list[str], stop: str, expected: list[str]
) -> None:
    assert list(cut_off(iter(pieces), stop)) == expected


class Terminal:
    """`regard` with a terminal of its own."""

    def __init__(self, *words: object) -> None:
        self._own, theirs = pty.openpty()
        environment = os.environ | {"OMP_NUM_THREADS": "1", "TERM": "dumb"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "regard", *map(str, words)],
            stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        self.shown, self._seen = "", 0

    def until(self, text: str, seconds: float = 60, again: str = "") -> None:
        """Wait for what is shown after what was waited for last; type `again` every 5 seconds."""
        begin = latest = time.monotonic()
        while text not in self.shown[self._seen :]:
            assert time.monotonic() < begin + seconds, self.shown
            if again and time.monotonic() > latest + 5:
                self.type(again)
                latest = time.monotonic()
            if select.select([self._own], [], [], 0.1)[0]:
                self.shown += os.read(self._own, 1 << 16).decode(errors="replace")
        self._seen = self.shown.index(text, self._seen) + len(text)

    def type(self, text: str) -> None:
        os.write(self._own, text.encode())

    def code(self) -> int:
        return self._process.wait(timeout=60)


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are another thing there")
def test_a_terminal_is_interrupted_and_goes_on(tmp_path: Path) -> None:
    folders.llama(tmp_path / "llama")
    terminal = Terminal("chat", tmp_path / "llama", "--max-tokens", "1500", "--engine", "torch")
    terminal.until("> ")
    assert "Format: plain. /help lists commands" in terminal.shown
    terminal.type("the cat sat on the mat\n")
    terminal.until("mat\r\n")
    terminal.until(" ")  # the answer has begun
    terminal.type("\x03")
    terminal.until("\r\n> ")
    terminal.type("/reset\n")
    terminal.until("(all forgotten)")
    terminal.until("> ")
    terminal.type("\x03")
    # one that comes after the prompt is shown and before Python waits is heard at the next key
    terminal.until("\r\n> ", again="\x03")
    terminal.type("\x03")
    terminal.until("\r\n", again="\x03")
    assert terminal.code() == 0
    assert "Traceback" not in terminal.shown


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are another thing there")
def test_ctrl_d_ends(talker: Path) -> None:
    terminal = Terminal("chat", talker)
    terminal.until("> ")
    terminal.type("a cat 1\n")
    terminal.until("it purrs\r\n> ")
    terminal.type("which animal\n")
    terminal.until("the cat\r\n> ")
    terminal.type("\x04")
    assert terminal.code() == 0
