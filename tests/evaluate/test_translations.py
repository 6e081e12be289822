"""Scores against sacreBLEU called directly, and slices counted by hand."""

import json
import math
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
import sacrebleu

from regard.api.load import load
from regard.data.phrasebook.corpus import Entry, phrasebook
from regard.decode.options import DecodingOptions
from regard.errors import DataError, MisuseError
from regard.evaluate.translations import Slip, pairs_to_score, score, score_notes, score_slices
from regard.runs.folder import RunFolder

OUTPUTS = ["Das Haus ist klein.", "Der Hund bellt laut heute.", "Wie geht es dir?"]
REFERENCES = ["Das Haus ist sehr klein.", "Der Hund bellt heute laut.", "Wie geht es dir?"]


def test_scores_are_sacrebleus() -> None:
    got = score(OUTPUTS, REFERENCES)
    assert got.bleu == pytest.approx(sacrebleu.corpus_bleu(OUTPUTS, [REFERENCES]).score)
    assert got.chrf == pytest.approx(sacrebleu.corpus_chrf(OUTPUTS, [REFERENCES]).score)
    assert got.exact == pytest.approx(100 / 3)
    assert "tok:13a" in got.bleu_signature and "nc:6" in got.chrf_signature


def test_what_bleu_is_made_of() -> None:
    got = score(OUTPUTS, REFERENCES)
    # Counted by hand, full stops and the question mark are words: 16 of 17; in order of the
    # lines 5, 6 and 5 words are found, then 3 + 2 + 4 pairs, 1 + 1 + 3 threes, 0 + 0 + 2 fours.
    assert (got.output_words, got.reference_words) == (16, 17)
    assert got.precisions == pytest.approx([100 * 16 / 16, 100 * 9 / 13, 100 * 5 / 10, 100 * 2 / 7])
    assert got.brevity_penalty == pytest.approx(math.exp(1 - 17 / 16))
    mean = math.prod(share / 100 for share in got.precisions) ** 0.25
    assert got.bleu == pytest.approx(100 * got.brevity_penalty * mean)
    assert got.made_of() == (
        "precisions 100.0/69.2/50.0/28.6, brevity penalty 0.939, 16 words of 17"
    )


def test_slices_count_deciding_words() -> None:
    chosen = [e for e in phrasebook("de") if "it" in e.slices and e.split == "test"][:4]
    outputs = [e.target for e in chosen]
    rows = {row.name: row for row in score_slices(chosen, outputs)}
    assert rows["it"].decided == 100 and rows["it"].exact == 100
    wrong = chosen[0].target.replace(f" {chosen[0].answer} ", f" {chosen[0].rivals[0]} ")
    assert wrong != chosen[0].target
    rows = {row.name: row for row in score_slices(chosen, [wrong, *outputs[1:]])}
    assert rows["it"].decided == 75 and rows["it"].exact == 75


def test_pairs_from_files(tmp_path: Path) -> None:
    (tmp_path / "t.en").write_text("a\nb\n")
    (tmp_path / "t.de").write_text("x\ny\n")
    run = RunFolder(tmp_path)
    got = pairs_to_score(run, tmp_path / "t.en", tmp_path / "t.de", slices=False)
    assert (got.sources, got.references) == (["a", "b"], ["x", "y"])
    with pytest.raises(MisuseError, match="--slices belongs to the phrasebook"):
        pairs_to_score(run, tmp_path / "t.en", tmp_path / "t.de", slices=True)
    (tmp_path / "t.de").write_text("x\n")
    with pytest.raises(DataError, match="must be clean"):
        pairs_to_score(run, tmp_path / "t.en", tmp_path / "t.de", slices=False)
    with pytest.raises(MisuseError, match="needs --source"):
        pairs_to_score(run, None, tmp_path / "t.de", slices=False)


@pytest.mark.end_to_end
def test_the_notes_must_come_out_exactly(toy_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(toy_run, run)
    model = load(run)
    assert score_notes(model, DecodingOptions()) == ([], [])  # a run on own files has no notes
    right = model.translate("red cat")
    assert isinstance(right, str)
    pairs = [("red cat", right), ("blue dog", "never this")]
    entries = [Entry(source, target, "notes", "train", ("notes",)) for source, target in pairs]
    rows = "".join(f"{json.dumps(asdict(entry))}\n" for entry in entries)
    (run / "data" / "notes.jsonl").write_text(rows)
    (row,), slips = score_notes(model, DecodingOptions())
    assert (row.name, row.sentences, row.exact) == ("notes", 2, 50.0)
    assert slips == [Slip("blue dog", str(model.translate("blue dog")), "never this")]
