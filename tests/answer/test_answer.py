"""Answers of published models: found in windows as transformers cuts them; or written."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import folders
import regard
from refusals import refused
from regard.answer.answer import PROMPTS, answer_questions
from regard.answer.spans import best_spans, span_band
from regard.errors import MisuseError
from regard.text.published import load_tokenizer

QUESTION = "one is a cat?"
CONTEXT = "the red dog sat on a mat. " * 4 + "\nbob sat on  the sea."


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("limit", [None, 23])
def test_pieces_stand_for_the_characters_that_transformers_says(
    family: str, limit: int | None, tmp_path: Path
) -> None:
    folders.fresh(tmp_path / "m", family)
    tokenizer = load_tokenizer(tmp_path / "m")
    assert tokenizer is not None
    kind = transformers.BertTokenizerFast if family == "bert" else transformers.RobertaTokenizerFast
    theirs = kind.from_pretrained(tmp_path / "m")(
        QUESTION, CONTEXT, return_offsets_mapping=True, add_special_tokens=True
    )
    expected = dict.fromkeys(
        tuple(span)
        for span, part in zip(theirs["offset_mapping"], theirs.sequence_ids(), strict=True)
        if part == 1
    )
    windows, _ = tokenizer.encode_windows(QUESTION, CONTEXT, limit, 6)
    spans = [span for window in windows for span in window.offsets if span is not None]
    assert list(dict.fromkeys(spans)) == list(expected) and len(windows) > (limit is not None)


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_the_best_span_of_a_published_model(family: str, tmp_path: Path) -> None:
    """Beside transformers: its tokenizer cuts the windows, its model gives the logits, and every
    span of every window is compared."""
    theirs = folders.bert(tmp_path / "m", "QuestionAnswering", family).eval()
    cut = transformers.BertTokenizerFast(str(tmp_path / "m/vocab.txt"))
    rows = cut(
        QUESTION,
        CONTEXT,
        truncation="only_second",
        max_length=23,
        stride=23 - 3 - 5 - 6,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    tokenizer = load_tokenizer(tmp_path / "m")
    assert tokenizer is not None
    windows, cut_off = tokenizer.encode_windows(QUESTION, CONTEXT, 23, stride=6)
    assert [list(window.text.ids) for window in windows] == rows["input_ids"]
    assert [list(window.text.segments) for window in windows] == rows["token_type_ids"]
    assert len(windows) > 3 and cut_off == 0
    best: tuple[float, int, int] = (-float("inf"), 0, 0)
    for n, window in enumerate(windows):
        kinds = {"token_type_ids": torch.tensor([rows["token_type_ids"][n]])}
        with torch.no_grad():
            ids = torch.tensor([rows["input_ids"][n]])
            out = theirs(ids, **(kinds if family == "bert" else {}))
        begin, end = out.start_logits[0].tolist(), out.end_logits[0].tolist()
        where = [i for i, of in enumerate(rows.sequence_ids(n)) if of == 1]
        assert list(window.places) == where
        offsets = rows["offset_mapping"][n]
        assert [window.offsets[i] for i in where] == [offsets[i] for i in where]
        for i in where:
            for j in where:
                if i <= j < i + 30:
                    best = max(best, (begin[i] + end[j], -offsets[i][0], -offsets[j][1]))
    model = regard.load(tmp_path / "m", device="cpu")
    assert model.tasks == ("answer", "embed")
    (found,) = answer_questions(model, [(QUESTION, CONTEXT)], threshold=1e9, stride=6)[0]
    assert (found.start, found.end) == (-best[1], -best[2])
    assert found.text == CONTEXT[found.start : found.end]
    assert found.line == 1 + CONTEXT[: found.start].count("\n")


def test_spans_by_hand() -> None:
    logits = torch.tensor([[9.0, 9.0], [1.0, 0.0], [0.0, 3.0], [2.0, 1.0], [9.0, 9.0]])[None]
    context = torch.tensor([[False, True, True, True, False]])
    band = span_band(logits, context, longest=2)[0]
    assert [(s.begin, s.end, s.score) for s in best_spans(band, 9)] == [
        (1, 2, 4.0), (2, 2, 3.0), (3, 3, 3.0), (1, 1, 1.0), (2, 3, 1.0),
    ]  # fmt: skip


def test_windows_of_other_tokenizers_know_their_characters(tmp_path: Path) -> None:
    """RoBERTa's pieces begin with a space, which is no part of an answer."""
    folder = folders.fresh(tmp_path / "m", "roberta", head="ForQuestionAnswering")
    tokenizer = load_tokenizer(folder)
    assert tokenizer is not None
    windows, _ = tokenizer.encode_windows("one is?", "the cat sat on the red mat", 23, 4)
    for window in windows:
        at = [window.offsets[place] for place in window.places]
        assert all(span is not None for span in at)
    answers = regard.load(folder, device="cpu").answer(
        "one is?", "the cat sat on the red mat", top=2
    )
    assert all(one.text == one.text.strip() for one in answers)


def test_models_that_make_text_write_their_answer(tmp_path: Path) -> None:
    """What is asked is what `generate` and `complete` would be asked."""
    folders.t5(tmp_path / "t5")
    model: Any = regard.load(tmp_path / "t5", device="cpu", engine="torch")
    prompt = PROMPTS["generate"].format(question="one?", context="the cat sat.")
    best = model.answer("one?", "the cat sat.").best
    assert best.text == model.generate(prompt).strip()
    assert best.probability is None and best.line == 0
    folders.gpt2(tmp_path / "gpt2")
    model = regard.load(tmp_path / "gpt2", device="cpu", engine="torch")
    prompt = PROMPTS["complete"].format(question="one?", context="cat")
    text = model.complete(prompt, max_tokens=40, stop_text="\n").strip()
    assert model.answer("one?", "cat").best.text == text
    with refused(MisuseError, subject="answer", problem="this model reads 61", advice="index"):
        model.answer("one?", "the cat sat. " * 40)


def test_other_models_do_not_answer(tmp_path: Path) -> None:
    folders.bert(tmp_path / "m", "MaskedLM")
    with pytest.raises(MisuseError, match="answer: .* it offers fill, embed, logits"):
        regard.load(tmp_path / "m", device="cpu").answer("one?", "cat")
