"""The notebook of the docs, executed: what each answer shows."""

from pathlib import Path

import nbclient
import nbformat
import pytest

pytestmark = pytest.mark.end_to_end


def test_every_answer_shows_itself(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    book = nbformat.read(repository / "docs/notebooks/regard.ipynb", as_version=4)
    assert not [cell for cell in book.cells if cell.get("outputs")]  # kept without
    client = nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": tmp_path}})
    client.execute()
    shown = {
        cell.source.splitlines()[-1].partition("(")[0]: output.data
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result"
    }
    assert "<regard.Model 'demo-de': translate, logits>" in shown["model"]["text/plain"]
    assert "Wie geht es dir?" in shown["model.translate"]["text/plain"]
    assert "<table" in shown["model.translations"]["text/html"]
    assert "perplexity" in shown["model.score"]["text/html"]
    picture = shown["model.explain"]["text/html"]
    assert picture.count("<svg") == 3 and picture.count("<select") == 3
    assert "überquerte" in picture
    assert "finished" in shown["run"]["text/plain"]
    assert "<table" in shown["run.history"]["text/html"]
    assert "image/png" in shown["run.plot"]
    assert "BLEU" in shown["run.evaluate"]["text/html"]
    assert not [o for cell in book.cells for o in cell.get("outputs", []) if o.get("name")]
