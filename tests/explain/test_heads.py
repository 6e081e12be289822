"""Attention maps: merging by hand, and the weights are those of the pass."""

import numpy as np
import pytest
import torch

from in_memory import model_of
from refusals import refused
from regard.api.model import Model
from regard.decode.options import DecodingOptions
from regard.errors import MisuseError
from regard.explain.heads import attend, merge
from regard.model.presets import preset
from regard.model.trace import Trace
from regard.model.transformer import Transformer
from regard.text.tokenizer import Tokenizer

TEXT, OUTPUT = "the old house", "das alte Haus"


@pytest.fixture(scope="module")
def model() -> Model:
    tokenizer = Tokenizer.train([TEXT, OUTPUT], size=270)
    transformer = Transformer(preset("tiny", tokenizer.size)).eval()
    return model_of(transformer, tokenizer, DecodingOptions(beam=1, max_length=5))


def test_merging_sums_columns_and_averages_rows() -> None:
    weights = np.array([[[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]])
    rows, columns = [("one", [0, 1])], [("ab", [0, 1]), ("c", [2])]
    assert merge(weights, rows, columns) == pytest.approx(np.array([[[0.55, 0.45]]]))


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_every_row_sums_to_one_and_words_are_whole(model: Model, kind: str) -> None:
    found = attend(model, TEXT, OUTPUT).map(kind, 2)
    assert found.weights.shape == (4, len(found.rows), len(found.columns))
    assert found.weights.sum(axis=2) == pytest.approx(1)
    words = {"cross": (OUTPUT, TEXT), "encoder": (TEXT, TEXT), "decoder": (OUTPUT, OUTPUT)}[kind]
    assert found.rows == [*words[0].split(), "</s>"]
    start = ["<s>"] if kind == "decoder" else []
    end = [] if kind == "decoder" else ["</s>"]
    assert found.columns == [*start, *words[1].split(), *end]


def test_pieces_are_the_weights_of_the_pass(model: Model) -> None:
    special = model.tokenizer.special
    source = torch.tensor([[*model.tokenizer.encode(TEXT), special.eos]])
    target = torch.tensor([[special.bos, *model.tokenizer.encode(OUTPUT)]])
    trace = Trace()
    with torch.no_grad():
        model.transformer(source, target, trace=trace)
    got = attend(model, TEXT, OUTPUT, pieces=True).map("cross", 3)
    assert got.weights == pytest.approx(trace["decoder.2.cross.weights"][0].numpy())
    assert got.head(2) == pytest.approx(got.weights[1])
    assert got.head(None) == pytest.approx(got.weights.mean(axis=0))


def test_wrong_layers_heads_and_texts_are_named(model: Model) -> None:
    found = attend(model, TEXT)
    with refused(MisuseError, problem="layers 1 to 4"):
        found.map("cross", 5)
    with refused(MisuseError, problem="heads 1 to 4"):
        found.map("cross", 1).head(9)
    with pytest.raises(MisuseError, match="empty text"):
        attend(model, "")
