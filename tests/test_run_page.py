"""Who tries a page finds what is wrong: an output, an exit code, a command left out in silence."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from console_blocks import blocks, commands, difference, printed_by_python
from run_page import Instead, Ran, RunFolder, problems_of

PAGE = """\
# A page

```console
$ echo one; echo "took 1.25 s"
one
took 0.75 s
$ printf 'a\\nb\\nc\\n'
a
…
$ echo first \\
    second
first second
```

Commands alone:

```console
touch made  # a remark

test -f made
```

```text
$ false
```

```python
x = 2
print(x + 1)  # → 3
print("done")
# → done
```
"""


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    def shell(command: str) -> Ran:
        done = subprocess.run(
            [
                shutil.which("bash") or "bash",
                "-c",
                command.replace("python ", f"{sys.executable} "),
            ],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return Ran(done.returncode, done.stdout)

    return shell


def test_a_page_is_taken_apart() -> None:
    first, second, _, fourth = blocks(PAGE)
    assert [command.text for command in commands(first)][2:] == ["echo first second"]
    assert commands(first)[1].output == ("a", "…")
    assert [(c.text, c.line, c.output) for c in commands(second)] == [
        ("touch made", 18, ()),
        ("test -f made", 20, ()),
    ]
    assert printed_by_python(fourth) == ["3", "done"]


def test_a_page_that_is_right_has_no_problems(run: RunFolder) -> None:
    assert problems_of(PAGE, run, {}) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("one\ntook", "two\ntook", "not where it is shown"),
        ("took 0.75 s", "took long", "not where it is shown"),
        ("one\ntook", "took", "not where it is shown"),  # a line too few
        ("a\n…", "b\n…", "not where it is shown"),
        ("test -f made", "test -f missing", "line 20: test -f missing: ended with 1"),
        ("touch made", "make demo-of-nothing", "make demo-of-nothing: ended with"),
        ("print(x + 1)  # → 3", "print(x + 1)  # → three", "the Python block: not where"),
        ('print("done")', "raise SystemExit(4)", "the Python block: ended with 4"),
    ],
)
def test_what_is_wrong_is_named(run: RunFolder, old: str, new: str, told: str) -> None:
    assert old in PAGE
    problems = problems_of(PAGE.replace(old, new, 1), run, {})
    assert problems and told in problems[0]


def test_a_listed_command_is_replaced_by_its_twin(run: RunFolder) -> None:
    page = PAGE.replace("touch made", "make everything")
    instead = {"make everything": Instead("takes an hour", "touch made")}
    assert problems_of(page, run, instead) == []
    failing = {"make everything": Instead("takes an hour", "false")}
    assert "false: ended with 1" in problems_of(page, run, failing)[0]


def test_a_list_that_says_too_much_or_too_little_is_a_problem(run: RunFolder) -> None:
    other = {"make nothing": Instead("takes an hour", "true")}
    assert problems_of(PAGE, run, other) == ["listed, but not on the page: make nothing"]
    silent = {"touch made": Instead("", "touch made")}
    assert problems_of(PAGE, run, silent) == ["listed without a reason or a twin: touch made"]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["a", "b"], "a\nb\n", True),
        (["a", "b"], "a\nx\nb\n", False),
        (["a", "…", "b"], "a\nx\ny\nb\n", True),
        (["…", "b"], "a\nb\n", True),
        (["a", "…"], "b\na\n", False),
        (["b"], "a\nb\n", False),
        (["a", "…", "a"], "a\n", False),
        (["BLEU  12.3"], "BLEU 9.75\n", True),
        (["BLEU  12.3"], "chrF 12.3\n", False),
        ([], "anything\n", True),
        (["a"], "comparing  66%  4/6  0:00:18 elapsed  0:00:09 left\na\n", True),
        (["a"], "66% of 4/6 elapsed\na\n", False),
    ],
)
def test_an_output_and_what_is_shown_of_it(shown: list[str], printed: str, same: bool) -> None:
    assert (difference(shown, printed) == "") is same
