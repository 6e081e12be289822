"""Taggers trained in seconds: on BERT, on DistilBERT, and on an encoder of our own."""

import json
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
import transformers
from click.testing import CliRunner
from sklearn import metrics
from torch.nn import functional as F

import folders
import regard
from halting import digest, go, go_with_halts
from regard.answer.tag import Tag
from regard.checkpoint.published import load_published
from regard.cli.main import group
from regard.convert.convert import convert
from regard.data.batch import IGNORED, text_batch
from regard.errors import ConfigError, DataError, MisuseError
from regard.fit.objectives.classify import judge
from regard.fit.objectives.tag import tags_of
from regard.fit.train import Request
from regard.runs.log import read_log
from regard.runs.recipe import make_recipe
from regard.text.encoder_tokenizer import save_for_encoder
from regard.text.published import load_tokenizer
from regard.text.tokenizer import Tokenizer
from regard.training.losses import Tagging

OWN = (
    "model.preset=tiny",
    "model.d_model=32",
    "model.encoder_layers=1",
    "model.heads=2",
    "model.ffn_size=64",
    "model.norm_order=pre",
    "tokenizer.size=320",
)
Sentence = list[tuple[str, str]]


def sentences(count: int, seed: int = 1) -> list[Sentence]:
    """`red` is an adjective before a noun and a noun elsewhere; `bob` is three pieces of BERT's."""
    chance, rows = random.Random(seed), list[Sentence]()
    nouns, places = ["cat", "dog", "bird"], ["mat", "house", "tree"]
    for _ in range(count):
        who: Sentence = [("the", "D"), (chance.choice(nouns), "N")]
        who = chance.choice([who, [("bob", "NAME")], [("the", "D"), ("red", "N")]])
        where = [("the", "D"), ("red", "A"), (chance.choice(places), "N")]
        where = chance.choice([where, where[:1] + where[2:]])
        end = chance.choice([[(".", "P")], []])
        rows.append([*who, ("sat", "V"), ("on", "IN"), *where, *end])
    return rows


def conll(rows: list[Sentence]) -> str:
    return "\n".join("".join(f"{word}\t{tag}\n" for word, tag in row) for row in rows)


def same(first: Sequence[Tag | None], second: Sequence[Tag | None]) -> None:
    """The same tags, their probabilities but for rounding."""
    for one, other in zip(first, second, strict=True):
        assert one is not None and other is not None
        assert (one.word, one.tag) == (other.word, other.tag)
        assert one.probability == pytest.approx(other.probability, abs=1e-5)


def ask(folder: Path, *changes: str, text: str | None = None) -> Request:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "t.conll").write_text(conll(sentences(200)) if text is None else text)
    (folder / "r.toml").write_text(
        f'objective = "tag"\n[data]\ntexts = "{folder}/t.conll"\nvalidation = 30\n'
        '[train]\nsteps = 80\ntoken_budget = 400\nschedule = "constant"\nrate = 0.004\nwarmup = 5\n'
        'validate_every = 40\nlabel_smoothing = 0.0\nthreads = 1\nworkers = 1\nprecision = "fp32"\n'
    )
    return Request(recipe=folder / "r.toml", assignments=changes, folder=folder / "run")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root, trained = tmp_path_factory.mktemp("taggers"), dict[str, Path]()

    def run(name: str) -> Path:
        if name not in trained:
            keys = OWN
            if name != "own":
                keys = (f"train.start_from={folders.fresh(root / name / 'start', name, layers=1)}",)
            lines = go(ask(root / name, *keys))
            assert any("Try: regard tag" in line for line in lines)
            trained[name] = root / name / "run"
        return trained[name]

    return run


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", ["own", "bert", "distilbert", "roberta"])
def test_it_learns_tags_from_the_words_around(name: str, runs: Callable[[str], Path]) -> None:
    model = regard.load(runs(name), device="cpu")
    assert model.tasks == ("tag", "classify", "embed")
    words = model.tag("the red sat on the red mat.")
    assert [one.word for one in words] == ["the", "red", "sat", "on", "the", "red", "mat", "."]
    assert [one.tag for one in words] == ["D", "N", "V", "IN", "D", "A", "N", "P"]
    assert all(0.5 < one.probability <= 1 for one in words)
    rows = sentences(40, seed=7)
    answers = model.tag([[word for word, _ in row] for row in rows])
    pairs = [
        (tag, one.tag)
        for row, tags in zip(rows, answers, strict=True)
        for (_, tag), one in zip(row, tags, strict=True)
    ]
    assert sum(a == b for a, b in pairs) / len(pairs) > 0.97
    same(model.tag([[word for word, _ in rows[0]]])[0], answers[0])  # alone as among others
    checks = [r for r in read_log(runs(name) / "log.jsonl") if r["kind"] == "validation"]
    assert checks[-1]["accuracy"] > 0.97 and checks[-1]["loss"] < checks[0]["loss"]
    with pytest.raises(MisuseError, match="fill: .* it offers tag, classify, embed, logits"):
        model.fill("the [MASK]")


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", ["bert", "distilbert"])
def test_transformers_reads_what_convert_writes(
    name: str, runs: Callable[[str], Path], tmp_path: Path
) -> None:
    """Its own tokenizer says where words begin, its own head says which tag stands there."""
    convert(runs(name), tmp_path / "hf", "hf")
    theirs = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "hf").eval()
    cut = transformers.BertTokenizerFast(str(tmp_path / "hf/vocab.txt"))
    model = regard.load(runs(name), device="cpu")
    words = ["bob", "sat", "on", "the", "red", "xylo", "."]
    pieces = cut(words, is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        p = theirs(**{k: pieces[k] for k in ("input_ids", "attention_mask")}).logits[0].softmax(-1)
    begins = [pieces.word_ids().index(n) for n in range(len(words))]
    assert begins == [1, 4, 5, 6, 7, 8, 12]  # bob is b ##o ##b
    best = p[begins].max(dim=-1)
    (tagged,) = model.tag([words])
    assert [one.tag for one in tagged] == [theirs.config.id2label[i] for i in best.indices.tolist()]
    assert [one.probability for one in tagged] == pytest.approx(best.values.tolist(), abs=1e-5)
    same(regard.load(tmp_path / "hf", device="cpu").tag([words])[0], tagged)


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_the_loss_is_that_of_transformers(family: str, tmp_path: Path) -> None:
    theirs = folders.bert(tmp_path / "m", "TokenClassification", family, num_labels=5).eval()
    ours = load_published(tmp_path / "m").eval()
    rows, tags = [[2, 9, 10, 11, 3], [2, 12, 13, 3]], [[0, 1, 0, 5, 0], [0, 3, 2, 0]]
    batch = text_batch(rows, [5, 4], pad=0)
    labels = tags_of(tags, batch["text"].shape[1])
    i = IGNORED
    assert labels.tolist() == [[i, 0, i, 4, i], [i, 2, 1, i, i]]
    batch = batch.having(text_labels=labels)
    real = batch["text_real"].long()
    out = theirs(input_ids=batch["text"], attention_mask=real, labels=labels)
    loss = Tagging()(ours, batch)
    assert batch.targets == 4
    torch.testing.assert_close(loss.plain / 4, out.loss.detach(), atol=1e-5, rtol=1e-5)
    smoothed = F.cross_entropy(
        out.logits.flatten(0, 1), labels.flatten(), ignore_index=i, label_smoothing=0.1
    )
    torch.testing.assert_close(
        Tagging(0.1)(ours, batch).smoothed / 4, smoothed, atol=1e-5, rtol=1e-5
    )
    judged = judge(ours, [batch])
    answers = out.logits.argmax(dim=-1)[labels != i]
    assert judged.loss == pytest.approx(float(out.loss.detach()), abs=1e-5)
    assert judged.accuracy == pytest.approx(float((answers == labels[labels != i]).float().mean()))


@pytest.mark.parametrize("kind", ["bytes", "unigram", "merges", "words", "characters"])
def test_words_begin_at_their_first_piece(kind: str, tmp_path: Path) -> None:
    text = ["The dogs' coats aren't über-warm, Zoë!"] * 3
    save_for_encoder(Tokenizer.train(text, kind, 300), tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer is not None
    words = ["The", "dogs", "'", "coats", "aren't", "über-warm", ",", "Zoë", "!"]
    encoded, places = tokenizer.encode_words(words)
    assert encoded.ids == tokenizer.encode(" ".join(words)).ids
    pieces = tokenizer.pieces(encoded.ids)
    for word, place in zip(words, places, strict=True):
        assert place is not None
        piece = pieces[place].lstrip("▁")
        alone = (
            piece == "" and place == 1
        )  # a mark before the text, which stands for its first word
        assert alone or piece == "<unk>" or piece[:1] in (word[:1], "‹"), (word, piece)
    assert places == sorted(set(places))
    assert tokenizer.encode_words(words, 4)[1][-1] is None  # it was cut


@pytest.mark.end_to_end
def test_resume_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = (*OWN, "train.steps=20", "train.validate_every=10")
    go(ask(tmp_path / "straight", *keys))
    go_with_halts(ask(tmp_path / "halted", *keys), [1, 13], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


@pytest.mark.end_to_end
def test_the_command_prints_words_and_tags(runs: Callable[[str], Path], tmp_path: Path) -> None:
    run, file = str(runs("bert")), tmp_path / "in.txt"
    printed = CliRunner().invoke(group, ["tag", run, "the red sat."], catch_exceptions=False).stdout
    assert [line.split()[:2] for line in printed.splitlines()] == [
        ["the", "D"], ["red", "N"], ["sat", "V"], [".", "P"],
    ]  # fmt: skip
    file.write_text("bob sat on.\n\nthe cat\n")
    words = ["tag", run, "--file", str(file), "--json", "--spaces"]
    lines = CliRunner().invoke(group, words, catch_exceptions=False).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [[w["word"] for w in row["words"]] for row in rows] == [
        ["bob", "sat", "on."], ["the", "cat"],
    ]  # fmt: skip
    model = regard.load(run, device="cpu")
    assert rows[1]["words"] == [vars(one) for one in model.tag("the cat")]
    with pytest.raises(MisuseError, match="the text has no words"):
        model.tag(" ")
    with pytest.raises(MisuseError, match=r"32 tokens, this model reads at most 23; divide it"):
        model.tag("cat " * 30)
    with pytest.raises(MisuseError, match="the word 'two words', expected words without spaces"):
        model.tag([["two words"]])
    assert len(model.tag(["cat " * 30], cut=True)[0]) == 21


@pytest.mark.end_to_end
def test_evaluate_counts_words(runs: Callable[[str], Path], tmp_path: Path) -> None:
    rows = sentences(30, seed=9)
    rows[0][0] = (rows[0][0][0], "V")  # one is wrong
    file = tmp_path / "test.conll"
    file.write_text(conll(rows))
    model = regard.load(runs("own"), device="cpu")
    answers = [one.tag for row in rows for one in model.tag([[word for word, _ in row]])[0]]
    truth = [tag for row in rows for _, tag in row]
    words = ["evaluate", str(runs("own")), "--file", str(file)]
    scores = json.loads(
        CliRunner().invoke(group, [*words, "--json"], catch_exceptions=False).stdout
    )
    assert scores["texts"] == len(truth) and scores["unit"] == "word"
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(truth, answers))
    assert scores["confusion"] == metrics.confusion_matrix(truth, answers).tolist()
    printed = CliRunner().invoke(group, words[:2], catch_exceptions=False).stdout
    assert "words of the run's validation texts" in printed
    assert "words by their label (rows) and the answer (columns)" in printed
    file.write_text("the\tD\ncat\tXX\n")
    with pytest.raises(DataError, match=r"labels that training has not seen: 'XX' \(1\)"):
        CliRunner().invoke(group, words, catch_exceptions=False)


@pytest.mark.end_to_end
def test_a_tag_without_words_counts_for_nothing(
    runs: Callable[[str], Path], tmp_path: Path
) -> None:
    """As while training, and as scikit-learn counts: only tags that occur are in the mean."""
    model = regard.load(runs("own"), device="cpu")
    row = next(row for row in sentences(30, seed=9) if len({tag for _, tag in row}) < 5)
    answers = [one.tag for one in model.tag([[word for word, _ in row]])[0]]
    truth = [tag for _, tag in row]
    file = tmp_path / "one.conll"
    file.write_text(conll([row]))
    words = ["evaluate", str(runs("own")), "--file", str(file)]
    scores = json.loads(
        CliRunner().invoke(group, [*words, "--json"], catch_exceptions=False).stdout
    )
    assert scores["f1"] == pytest.approx(metrics.f1_score(truth, answers, average="macro"))
    unseen = [each for each in scores["labels"] if each["label"] not in {*truth, *answers}]
    assert unseen and all(each["f1"] is None and each["texts"] == 0 for each in unseen)
    printed = CliRunner().invoke(group, words, catch_exceptions=False).stdout
    assert f"{unseen[0]['label']:<5}  {'–':>9} {'–':>7} {'–':>7} {0:8}\n" in printed


def test_what_no_tagger_can_learn_from_is_refused(tmp_path: Path) -> None:
    def refused(match: str, text: str, *changes: str) -> None:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        with pytest.raises((DataError, ConfigError), match=match):
            go(ask(tmp_path, *OWN, *changes, text=text))

    refused("every word has the label 'X', a tagger needs two", "the\tX\ncat\tX\n\n" * 40)
    refused(r"no sentence is usable(.|\n)*no label: 40 sentences", "the\tD\ncat\n\n" * 40)
    refused("0 sentences read", "")
    refused("rows: too few", conll(sentences(15)))
    valid = tmp_path / "v.conll"
    valid.write_text("the\tARTICLE\n")
    refused(r"not seen: 'ARTICLE' \(1\)", conll(sentences(40)), f"data.valid_texts={valid}")
    for data, match in [
        ({"texts": "a", "pair": "b"}, "tag reads one text"),
        ({"texts": "a", "labels": "several"}, "tag knows one label a word"),
        ({"source": "a"}, "tag needs texts, a file, or the phrasebook"),
    ]:
        with pytest.raises(ConfigError, match=match):
            make_recipe({"objective": "tag", "data": data}, "r.toml")
