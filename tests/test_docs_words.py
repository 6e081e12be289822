"""The Python of docs/words.md runs, here on the toy language's run instead of the phrasebook's."""

import re
from pathlib import Path

import pytest


@pytest.mark.end_to_end
def test_the_python_of_the_page_runs(
    repository: Path,
    toy_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "runs").mkdir()
    for name in ("words", "demo"):
        (tmp_path / "runs" / name).symlink_to(toy_run)
    monkeypatch.chdir(tmp_path)
    page = (repository / "docs/words.md").read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(snippets) == 3
    printed = []
    for snippet in snippets:
        exec(compile(snippet, "words.md", "exec"), {})
        printed.append(capsys.readouterr().out)
    # toy.SMALL: 320 pieces, d_model 32
    assert printed[0].startswith("320 words, 320 output neurons of 32 weights each\n<pad> <s>")
    assert printed[1].startswith("320 probabilities, sum 1.0000\nneuron ")
    assert "The wombat sleeps in the gardens." in printed[2]
