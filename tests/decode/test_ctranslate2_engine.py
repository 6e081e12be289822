"""The ctranslate2 engine against the search written out in full passes, and against torch."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from decode.plain import unchecked
from regard.checkpoint.to_ctranslate2 import write_ctranslate2
from regard.checksums import NAME as CHECKSUMS
from regard.decode.engine import Frame, Hypothesis, Layout, Row
from regard.decode.engines.ctranslate2 import CTranslate2Engine, refused
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import NO_RULES, DecodingOptions, Rules
from regard.errors import CheckpointError, DataError, MisuseError
from regard.model.spec import Spec
from regard.model.transformer import Transformer

START, END, V = 1, 2, 23
pytestmark = pytest.mark.needs("ctranslate2")
FRAME = Frame(0, START, END)
PIECES = ["<pad>", "<s>", "</s>", "<unk>", *(f"p{i}" for i in range(4, V))]
SHAPES: dict[str, dict[str, Any]] = {
    "the paper": {},
    "pre-norm": {"norm_order": "pre"},
    "learned": {"positions": "learned", "max_length": 20},  # reached by some outputs
    "relative": {"positions": "relative", "relative_buckets": 8, "relative_distance": 16},
}
SEARCHES = [
    DecodingOptions(beam=1),
    DecodingOptions(beam=1, max_length=5),
    DecodingOptions(beam=1, alpha=1.0, length_norm="paper", stop="exact", max_length=9),
    DecodingOptions(beam=1, min_length=100),  # more than the limit of a short sentence
    DecodingOptions(beam=4),
    DecodingOptions(beam=4, alpha=0.0, n_best=4),
    DecodingOptions(beam=5, alpha=-1.0, n_best=5, max_length=12),
    DecodingOptions(beam=3, n_best=3, max_length=6),
    DecodingOptions(beam=4, n_best=2, min_length=5, max_length=9),
    DecodingOptions(beam=12, n_best=5, max_length=7),  # 2 · 12 are more than the vocabulary
    DecodingOptions(beam=4, n_best=2, max_length=1),
    DecodingOptions(beam=1, no_repeat_ngram=3, max_length=15),
    DecodingOptions(beam=2, no_repeat_ngram=2, max_length=15),
    DecodingOptions(beam=3, repetition_penalty=1.5, n_best=3, max_length=15),
    DecodingOptions(beam=1, repetition_penalty=0.7, max_length=15),
]


def make(seed: int, end: float = 2.0, **changes: Any) -> Transformer:
    """A small random model; `end` makes its outputs shorter."""
    torch.manual_seed(seed)
    shape: dict[str, Any] = dict(d_model=16, heads=2, ffn_size=20, max_length=64, tie="none")
    layers = {"encoder_layers": 1, "decoder_layers": 1, "output_bias": True}
    model = Transformer(Spec(V, **(shape | layers | changes)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
        assert model.output is not None and model.output.bias is not None
        model.output.weight.mul_(0.6)
        model.output.bias.mul_(0.1)
        model.output.bias[END] += end
    return model.eval()


def opened(model: Transformer, folder: Path, rules: Rules = NO_RULES, **options: Any) -> Any:
    if not folder.exists():
        write_ctranslate2(model, folder, PIECES, start=START, end=END, never=rules.never)
    options.setdefault("layout", Layout(workers=2, batch=3))
    return CTranslate2Engine(folder, FRAME, rules, **options)


def some_sources(seed: int, count: int = 8) -> list[list[int]]:
    chance = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 12, (count,), generator=chance).tolist()
    return [[*torch.randint(4, V, (n,), generator=chance).tolist(), END] for n in lengths]


def next_log_p(
    model: Transformer, source: Row, outputs: Sequence[Row], search: DecodingOptions
) -> list[list[float]]:
    """By a full pass for outputs of one length; what the options change, token by token."""
    with torch.no_grad(), unchecked():
        begun = torch.tensor([[START, *ids] for ids in outputs])
        logits = model(torch.tensor([source]).expand(len(begun), -1), begun)[:, -1].clone()
    n, factor = search.no_repeat_ngram, search.repetition_penalty
    for row, ids in zip(logits, outputs, strict=True):
        for token in set(ids):
            row[token] = row[token] / factor if row[token] > 0 else row[token] * factor
        for token in range(V) if n else ():
            grams = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
            if tuple([*ids, token][-n:]) in grams:
                row[token] = -torch.inf
        if len(ids) < search.min_length:
            row[END] = -torch.inf
    return logits.log_softmax(dim=-1).tolist()


def written_out(
    model: Transformer, source: Row, search: DecodingOptions, must_end: bool = False
) -> list[Hypothesis]:
    """The search as decode/beam.py describes it: power norm, first-k, without cache and batch."""
    limit, k = search.limit(len(source), model.spec.position_limit), search.beam
    open_: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    done: list[Hypothesis] = []
    for step in range(limit):
        if must_end and step + 1 == limit:
            found = [(total, ids, END) for ids, total in open_]
        else:
            log_p = next_log_p(model, source, [ids for ids, _ in open_], search)
            found = [
                (total + p, ids, token)
                for (ids, total), row in zip(open_, log_p, strict=True)
                for token, p in enumerate(row)
                if p > -1e30
            ]
        found = sorted(found, key=lambda f: -f[0])[: 2 * k]
        ended = [(total, ids) for total, ids, token in found[:k] if token == END]
        done += [Hypothesis(i, p, search.score(p, len(i) + 1), True) for p, i in ended]
        open_ = [((*ids, token), total) for total, ids, token in found if token != END][:k]
        if len(done) >= k:
            break
    if len(done) < search.n_best:
        done += [Hypothesis(i, p, search.score(p, len(i)), False) for i, p in open_]
    return sorted(done, key=lambda h: (h.finished, h.score), reverse=True)[: search.n_best]


def assert_same(got: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [(h.ids, h.finished) for h in got] == [(h.ids, h.finished) for h in expected]
    for a, b in zip(got, expected, strict=True):
        assert a.log_probability == pytest.approx(b.log_probability, abs=5e-4)
        assert a.score == pytest.approx(b.score, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("shape", "must_end", "end"),
    [
        ("the paper", False, 2.0),
        ("the paper", True, 1.0),
        ("pre-norm", False, 2.0),
        ("learned", True, 0.5),
        ("relative", False, 2.0),
    ],
)
def test_the_search_written_out(shape: str, must_end: bool, end: float, tmp_path: Path) -> None:
    model = make(len(shape), end, **SHAPES[shape])
    engine = opened(model, tmp_path / "m", Rules(must_end=must_end))
    for number, search in enumerate(SEARCHES):
        sources = some_sources(number, count=3)
        found = engine.submit(sources, search)()
        for source, got in zip(sources, found, strict=True):
            assert_same(got, written_out(model, source, search, must_end))


def test_sentences_reach_their_own_limits(tmp_path: Path) -> None:
    """Without an end all are cut off, each after source tokens + 50, in one batch."""
    model = make(0, end=-50.0)
    sources = some_sources(1)
    for beam in (1, 3):
        found = opened(model, tmp_path / "m").submit(sources, DecodingOptions(beam=beam))()
        assert [len(best[0].ids) for best in found] == [len(s) + 50 for s in sources]
        assert not any(best[0].finished for best in found)


@pytest.mark.parametrize("beam", [1, 4])
def test_torch_finds_the_same(beam: int, tmp_path: Path) -> None:
    model, sources = make(3), some_sources(3, count=40)
    search = DecodingOptions(beam=beam, n_best=beam)
    other = TorchEngine(model, FRAME)
    expected = other.submit(sources, search)()
    other.close()
    for got, wanted in zip(
        opened(model, tmp_path / "m").submit(sources, search)(), expected, strict=True
    ):
        assert_same(got, wanted)


def test_prefixes(tmp_path: Path) -> None:
    """Each output begins with its own prefix, whose log p counts."""
    model, sources = make(4, end=0.5), some_sources(4)
    prefixes = [[], [5], [6, 7], [9, 9, 9], [], [4], [21, 3], [8]]
    search = DecodingOptions(beam=1, max_length=10)
    found = opened(model, tmp_path / "m").submit(sources, search, prefixes)()
    for source, prefix, (got,) in zip(sources, prefixes, found, strict=True):
        ids, total = list[int](), 0.0
        while len(ids) < 10:
            (log_p,) = next_log_p(model, source, [ids], search)
            free = max(range(V), key=lambda i: log_p[i])
            token = prefix[len(ids)] if len(ids) < len(prefix) else free
            total += log_p[token]
            if token == END:
                break
            ids.append(token)
        finished = len(ids) < 10
        score = search.score(total, len(ids) + finished)
        assert_same([got], [Hypothesis(tuple(ids), total, score, finished)])


def test_rules_of_the_model(tmp_path: Path) -> None:
    model, sources = make(5, end=0.0), some_sources(5)
    plain = opened(model, tmp_path / "a").submit(sources, DecodingOptions(beam=1))()
    common = max(range(4, V), key=[i for h in plain for i in h[0].ids].count)
    for folder in ("a", "b"):  # a: written without the rule
        engine = opened(model, tmp_path / folder, Rules(never=(common,), first=7))
        found = engine.submit(sources, DecodingOptions(beam=1))()
        assert all(h[0].ids[0] == 7 and common not in h[0].ids for h in found)


def test_neighbours_and_layouts_change_nothing(tmp_path: Path) -> None:
    model, sources = make(6), some_sources(6, count=17)
    search = DecodingOptions(beam=3, n_best=3)
    together = opened(model, tmp_path / "m").submit(sources, search)()
    for layout in (Layout(batch=1), Layout(batch=64), Layout(workers=3, batch=2)):
        engine = opened(model, tmp_path / "m", layout=layout)
        for a, b in zip(engine.submit(sources[::-1], search)()[::-1], together, strict=True):
            assert_same(a, b)
    assert opened(model, tmp_path / "m").submit([], search)() == []


def test_several_submissions_at_once(tmp_path: Path) -> None:
    engine = opened(make(7), tmp_path / "m")
    many = [some_sources(n) for n in range(12)]
    waiting = [engine.submit(sources, DecodingOptions(beam=2)) for sources in many]
    assert [pending() for pending in waiting] == [
        engine.submit(sources, DecodingOptions(beam=2))() for sources in many
    ]
    assert waiting[0]() == waiting[0]()


def test_score_is_log_p_of_each_token(tmp_path: Path) -> None:
    model, sources = make(8), some_sources(8, count=5)
    targets = [[5], [], [6, 7, 8], [20] * 9, [4, 5]]
    got = opened(model, tmp_path / "m").score(sources, targets)
    for source, target, log_ps in zip(sources, targets, got, strict=True):
        expected = [
            next_log_p(model, source, [target[:n]], DecodingOptions())[0][token]
            for n, token in enumerate([*target, END])
        ]
        assert log_ps == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("search", "prefixed", "words"),
    [
        (DecodingOptions(), False, None),
        (DecodingOptions(beam=1, length_norm="paper", stop="likely"), True, None),
        (DecodingOptions(length_norm="paper"), False, 'length_norm "paper" with a beam'),
        (DecodingOptions(stop="exact"), False, 'stop "exact" with a beam'),
        (DecodingOptions(coverage=0.2), False, "a coverage penalty"),
        (DecodingOptions(beam=1, temperature=1.0), False, "sampling"),
        (DecodingOptions(), True, "a forced beginning with a beam"),
        (DecodingOptions(convention="transformers"), False, "cut-off outputs ordered by score"),
        (DecodingOptions(beam=1, convention="transformers", min_length=2), False, None),
        (
            DecodingOptions(beam=1, convention="transformers", no_repeat_ngram=2),
            False,
            "penalties by the convention of transformers",
        ),
    ],
)
def test_what_is_not_offered_is_refused(
    search: DecodingOptions, prefixed: bool, words: str | None, tmp_path: Path
) -> None:
    refusal = refused(search, prefixed=prefixed)
    if words is None:
        assert refusal is None
        return
    assert refusal is not None and words in refusal
    engine = opened(make(0), tmp_path / "m")
    with pytest.raises(MisuseError, match=f"does not offer {words}.*use engine torch"):
        engine.submit([[5, END]], search, [[4]] if prefixed else ())


def test_rules_can_be_refused_and_can_help() -> None:
    """Where every output must end, none is cut off, whatever the convention."""
    theirs = DecodingOptions(convention="transformers")
    assert refused(theirs, Rules(must_end=True)) is None
    assert refused(replace(theirs, min_length=3), Rules(must_end=True)) is not None
    assert refused(DecodingOptions(), Rules(also_ends=(7,))) == "several end tokens"


def test_nothing_is_cut_in_silence(tmp_path: Path) -> None:
    model = make(0, positions="learned", max_length=20)
    engine = opened(model, tmp_path / "m")
    with pytest.raises(DataError, match="source 2: 21 tokens, this model holds 20; divide"):
        engine.submit([[5, END], [*[5] * 20, END]], DecodingOptions())
    with pytest.raises(DataError, match="target 1: 21 tokens"):
        engine.score([[5, END]], [[5] * 20])
    with pytest.raises(DataError, match="prefix: 3 tokens, the output may have 3"):
        engine.submit([[5, END]], DecodingOptions(beam=1, max_length=3), [[5, 5, 5]])
    # the library's own limit is 1024 tokens, after which it drops the rest
    paper = make(0)
    engine = opened(paper, tmp_path / "p", positions=1500)
    long, search = [*[5, 6, 7] * 450, END], DecodingOptions(beam=1, max_length=4)
    assert_same(engine.submit([long], search)()[0], written_out(paper, long, search))
    with pytest.raises(DataError, match="1501 tokens, this model holds 1500"):
        engine.submit([[5] * 1500 + [END]], search)


def test_a_source_without_words(tmp_path: Path) -> None:
    (found,) = opened(make(0), tmp_path / "m").submit([[END]], DecodingOptions(n_best=2))()
    assert [(h.ids, h.finished) for h in found] == [((), True)]


@pytest.mark.needs("int8")
def test_precisions(tmp_path: Path) -> None:
    model, sources = make(9), some_sources(9, count=30)
    expected = opened(model, tmp_path / "m").submit(sources, DecodingOptions(beam=1))()
    got = opened(model, tmp_path / "m", layout=Layout("int8")).submit(
        sources, DecodingOptions(beam=1)
    )()
    assert sum(a[0].ids == b[0].ids for a, b in zip(got, expected, strict=True)) > 15
    assert got != expected
    with pytest.raises(MisuseError, match="precision: got 'fp7'; ctranslate2 offers fp32"):
        opened(model, tmp_path / "m", layout=replace(Layout(), precision="fp7"))


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"has no regard\.json, expected a folder of"):
        CTranslate2Engine(tmp_path, FRAME)
    opened(make(0), tmp_path / "m")
    (tmp_path / "m/model.bin").write_bytes(b"?")
    with pytest.raises(CheckpointError, match=r"model\.bin: differs from its checksum"):
        opened(make(0), tmp_path / "m")
    (tmp_path / "m" / CHECKSUMS).unlink()
    with pytest.raises(CheckpointError, match="ctranslate2 cannot open it"):
        opened(make(0), tmp_path / "m")


def test_it_needs_no_torch(tmp_path: Path) -> None:
    opened(make(0), tmp_path / "m")
    code = (
        "import sys; from pathlib import Path; from regard.decode.engine import Frame, Layout;"
        "from regard.decode.engines.ctranslate2 import CTranslate2Engine as Engine;"
        "from regard.decode.options import DecodingOptions;"
        "e = Engine(Path(sys.argv[1]), Frame(0, 1, 2));"
        "print(e.submit([[5, 2]], DecodingOptions())());"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], check=True)


def test_a_missing_library_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(make(0), tmp_path / "m")
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(MisuseError, match=r"not installed; pip install 'regard\[fast\]'$"):
        opened(make(0), tmp_path / "m")
