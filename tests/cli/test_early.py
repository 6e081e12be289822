"""What can be refused from the arguments and small files is refused before torch is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from regard.cli.main import main
try:
    main()
finally:
    print("torch" in sys.modules)
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("positions --dim 7", "dim: got 7, expected an even number"),
        ("explain RUN TEXT --layer 9", "layer: got 9, the decoder of this model has layers 1 to"),
        ("explain RUN TEXT --head 99", "head: got 99, this model has heads 1 to"),
        ("explain RUN TEXT --as equation --word dog", "word: 'dog' is not in the text, expected"),
        ("explain RUN TEXT --as filter --word 99", "word: got position 99, the text has"),
        (
            "explain RUN TEXT --as equation --kind cross --translation katze --word dog",
            "word: 'dog' is not in the text, expected",
        ),
        ("walk RUN TEXT --layer 9", "layer: got 9, the encoder of this model has layers 1 to"),
        ("walk RUN TEXT --word dog", "word: got 'dog', the text has"),
        ("walk RUN EMPTY", "got an empty text, expected a sentence"),
    ],
)
def test_torch_is_not_imported_to_refuse(arguments: str, said: str, toy_run: Path) -> None:
    values = {"RUN": str(toy_run), "TEXT": "red cat", "EMPTY": " "}
    given = [values.get(word, word) for word in arguments.split()]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *given], capture_output=True, text=True)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert done.stdout == "False\n"
