"""What `regard evaluate` says of a model that fills holes, against one hole at a time by hand."""

import json
import math
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import folders
import regard
from halting import go
from regard.cli.main import group
from regard.data.phrasebook.corpus import forms_of, words_of_sentences
from regard.errors import MisuseError
from regard.evaluate.fill import Holes, score_fill, texts_to_fill
from regard.fit.train import Request
from regard.text.words import WORD


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few steps on the phrasebook: it knows the words and has begun to learn."""
    folder = tmp_path_factory.mktemp("fill")
    (folder / "r.toml").write_text(
        'objective = "fill"\n[data]\nphrasebook = "de"\nmax_tokens = 64\n'
        '[tokenizer]\nkind = "words"\n'
        '[model]\npreset = "tiny"\nd_model = 16\nencoder_layers = 1\nheads = 2\nffn_size = 16\n'
        "[train]\nsteps = 30\ntoken_budget = 512\nvalidate_every = 30\nthreads = 1\nworkers = 1\n"
        'schedule = "constant"\nrate = 0.01\nwarmup = 1\nprecision = "fp32"\nbleu_sentences = 1\n'
    )
    go(Request(recipe=folder / "r.toml", folder=folder / "run"))
    return folder / "run"


@pytest.mark.end_to_end
def test_words_that_agree_are_asked_for_one_by_one(run: Path) -> None:
    model = regard.load(run, device="cpu")
    whole = texts_to_fill(model, None)
    assert whole.name == "the phrasebook's test set" and len(whole.texts) > 1000
    texts = whole.texts[:10]
    texts += [text for text in whole.texts if text.startswith(("Is ", "Does ", "This "))][:3]
    scores = score_fill(model, Holes("some", texts, "de"))
    pieces = model.tokenizer.pieces(range(model.tokenizer.size))
    mask = model.tokenizer.mask_id
    count, form, exact, total, tokens = 0, 0, 0, 0.0, 0
    for text in texts:
        for word, match in zip(words_of_sentences("de")[text], WORD.finditer(text), strict=True):
            hidden = f"{text[: match.start()]}<mask>{text[match.end() :]}"
            ids = model.tokenizer.encode(hidden).ids
            logits = model.logits([list(ids)])[0, ids.index(mask)].log_softmax(dim=-1)
            every = dict(zip(pieces, logits.tolist(), strict=True))
            total, tokens = total - every[word.text], tokens + 1
            if not word.agrees:
                continue
            agreeing, rivals = forms_of(word, "de")
            capital = word.text[0].isupper()
            spelled = {f.capitalize() if capital else f for f in rivals} & set(every)
            count += 1
            form += max(spelled, key=lambda f: every[f]).lower() in agreeing
            exact += max(every, key=lambda f: every[f]) == word.text
    row = scores.agreement[0]
    assert (row.group, row.words, scores.left_out) == ("all", count, 0)
    assert (row.form, row.exact) == pytest.approx((form / count, exact / count))
    by_word = [r.words for r in scores.agreement[1:] if not r.group.startswith("with ")]
    assert scores.tokens == tokens and sum(by_word) == count
    assert scores.pseudo_perplexity == pytest.approx(math.exp(total / tokens), rel=1e-3)


def test_a_published_model_on_own_texts(tmp_path: Path) -> None:
    theirs = folders.bert(tmp_path / "m", "MaskedLM").eval()
    file = tmp_path / "t.txt"
    file.write_text("the cat sat on the mat\na good dog\n")
    words = ["evaluate", str(tmp_path / "m"), "--file", str(file)]
    found = json.loads(CliRunner().invoke(group, [*words, "--json"], catch_exceptions=False).stdout)
    model = regard.load(tmp_path / "m", device="cpu")
    total, right, count = 0.0, 0, 0
    for text in file.read_text().splitlines():
        ids = list(model.tokenizer.encode(text).ids)
        for place in range(1, len(ids) - 1):
            hidden = torch.tensor([ids])
            hidden[0, place] = 4
            with torch.no_grad():
                p = theirs(input_ids=hidden).logits[0, place].log_softmax(dim=-1)
            total, count = total - float(p[ids[place]]), count + 1
            right += int(p.argmax()) == ids[place]
    assert found["tokens"] == count == 9 and found["agreement"] == []
    assert found["pseudo_perplexity"] == pytest.approx(math.exp(total / count), rel=1e-4)
    assert found["found"] == pytest.approx(right / count)
    printed = CliRunner().invoke(group, words, catch_exceptions=False).stdout
    assert "9 tokens, each hidden once" in printed and "agree" not in printed
    with pytest.raises(MisuseError, match="holds no texts; give some with --file"):
        CliRunner().invoke(group, words[:2], catch_exceptions=False)
