"""Which words an encoder's answer rests on: the label of a text, or the match of two texts.

    label    f = p(label)                        words of the text, and of its pair
    answer   f = s_i + e_j of the best span      words of the question, and of the window it is in
    match    f = cos(v(A), v(B))                 words of A while B stays, then words of B

Attention is read at the first token where it speaks for the text, at every token where the vector
is a mean or a maximum (explain/account.py).
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.answer.answer import answer_questions, windows_of
from regard.answer.labels import probabilities as label_probabilities
from regard.answer.loaded import LoadedModel
from regard.answer.text_inputs import fitting, one_text, row_of
from regard.data.questions import Span
from regard.errors import MisuseError
from regard.explain.account import Account, ends_of_path, make_account, word_groups
from regard.explain.feed import tokenizer_of
from regard.explain.gradients import Answerer, Attribution, attribute
from regard.model.masks import Mask
from regard.model.pool import POOL
from regard.model.trace import Trace
from regard.model.transformer import Transformer
from regard.prepare.encoder_rows import places_of
from regard.text.encoded import Encoded


def explain_label(
    model: LoadedModel,
    text: str,
    pair: str | None = None,
    label: str | None = None,
    steps: int | None = None,
) -> Account:
    """Which words p(label) rests on; without a label, that of the likeliest one."""
    model.demand("classify")
    if model.spec.head != "classes":
        raise MisuseError("explain: this model labels each token; expected one label for a text")
    encoded = _encoded(model, text, pair)
    segments = row_of(model.transformer, encoded.segments)
    labels = model.bundle.labels

    def probabilities(rows: Float[Tensor, "B L D"]) -> Float[Tensor, "B C"]:
        memory = _memory(model.transformer, rows, segments.expand(len(rows), -1))
        return label_probabilities(labels, model.transformer.answer(memory))

    rows, baseline, hidden_by = _ends(model, encoded)
    with torch.no_grad():
        best = int(probabilities(rows[None])[0].argmax())
    if label is not None and label not in labels.names:
        raise MisuseError("label", got=label, expected=f"one of {', '.join(labels.names)}")
    chosen = best if label is None else labels.names.index(label)
    attribution = attribute(lambda x: probabilities(x)[:, chosen], rows, baseline, steps)
    name = labels.names[chosen]
    answer = (name, f"p({name})", text)
    return _account(model, encoded, answer, attribution, hidden_by, ("cls",))


def explain_span(
    model: LoadedModel, question: str, context: str | None, steps: int | None = None
) -> Account:
    """Which words the answer to a question rests on: those of the question, and those of the window
    of its context that holds the best span. Explained is s_i + e_j, where it begins and ends."""
    model.demand("answer")
    if context is None:
        problem = "a question needs a context"
        raise MisuseError("explain", problem, advice="give it with --pair (Python: pair=…)")
    (best,) = answer_questions(model, [(question, context)], threshold=math.inf)[0]
    windows = windows_of(model, question, context)
    ends = [places_of(window, Span(best.start, best.text)) for window in windows]

    def score_in(number: int) -> Answerer:
        begin, end = ends[number]
        segments = row_of(model.transformer, windows[number].text.segments)

        def score(rows: Float[Tensor, "B L D"]) -> Float[Tensor, " B"]:
            memory = _memory(model.transformer, rows, segments.expand(len(rows), -1))
            logits = model.transformer.answer(memory)
            return logits[:, begin, 0] + logits[:, end, 1]

        return score

    with torch.no_grad():
        values = [
            float(score_in(n)(_ends(model, window.text)[0][None]))
            if ends[n] != (0, 0)
            else -math.inf
            for n, window in enumerate(windows)
        ]
    chosen = values.index(max(values))
    rows, baseline, hidden_by = _ends(model, windows[chosen].text)
    attribution = attribute(score_in(chosen), rows, baseline, steps)
    answer = (best.text, f"begin + end of {best.text!r}", question)
    return _account(model, windows[chosen].text, answer, attribution, hidden_by, ("cls",))


def explain_match(
    model: LoadedModel, first: str, second: str, steps: int | None = None
) -> tuple[Account, Account]:
    """Which words of each text the cosine rests on while the other text stays as it is."""
    model.demand("embed")
    pooling = model.bundle.pooling
    sides = [_encoded(model, text, None) for text in (first, second)]

    def vector(rows: Float[Tensor, "B L D"]) -> Float[Tensor, "B E"]:
        memory = _memory(model.transformer, rows, None)
        real = torch.ones(memory.shape[:2], dtype=torch.bool, device=memory.device)
        return torch.cat([POOL[mode](memory, real) for mode in pooling.modes], dim=-1)

    accounts = []
    for own, other, text in ((0, 1, first), (1, 0, second)):
        rows, baseline, hidden_by = _ends(model, sides[own])
        with torch.no_grad():
            fixed = vector(_ends(model, sides[other])[0][None])
        cosine = _cosine_with(vector, fixed)
        attribution = attribute(cosine, rows, baseline, steps)
        answer = ("match", "cosine", text)
        accounts.append(_account(model, sides[own], answer, attribution, hidden_by, pooling.modes))
    return accounts[0], accounts[1]


def _cosine_with(
    vector: Callable[[Tensor], Tensor], fixed: Float[Tensor, "1 E"]
) -> Callable[[Tensor], Tensor]:
    return lambda rows: F.cosine_similarity(vector(rows), fixed, dim=-1)


def _memory(
    model: Transformer, rows: Float[Tensor, "B L D"], segments: Tensor | None
) -> Float[Tensor, "B L D"]:
    """The encoder's vectors for rows that need not be rows of any token."""
    assert model.source_embedding is not None and model.encoder is not None
    x = model.source_embedding.assembled(rows, segments=segments)
    memory: Tensor = model.encoder(x, Mask())
    return memory


def _ends(model: LoadedModel, encoded: Encoded) -> tuple[Tensor, Tensor, str]:
    """Rows of the text, rows of the text that tells nothing, and which token it is made of."""
    embedding, ids = model.transformer.source_embedding, encoded.ids
    assert embedding is not None
    return ends_of_path(embedding.weight, tokenizer_of(model), ids, told=len(ids))


def _account(
    model: LoadedModel,
    encoded: Encoded,
    answer: tuple[str, str, str],
    attribution: Attribution,
    hidden_by: str,
    modes: tuple[str, ...],
) -> Account:
    weights = _last_weights(model.transformer, encoded)
    looking = weights[:1] if modes == ("cls",) else weights
    groups = word_groups(tokenizer_of(model), encoded.ids)
    return make_account(*answer, groups, attribution, looking.mean(axis=0), hidden_by)


@torch.no_grad()
def _last_weights(model: Transformer, encoded: Encoded) -> Float[np.ndarray, "L L"]:
    """The last layer's attention, mean over heads."""
    trace = Trace()
    ids, segments = row_of(model, encoded.ids), row_of(model, encoded.segments)
    model.encode(ids, trace=trace, segments=segments)
    last = model.spec.encoder_layers - 1
    weights: np.ndarray = (
        trace[f"encoder.{last}.self.weights"][0].mean(dim=0).double().cpu().numpy()
    )
    return weights


def _encoded(model: LoadedModel, text: str, pair: str | None) -> Encoded:
    text = one_text(text, "explain")
    pair = None if pair is None else one_text(pair, "explain")
    return fitting(tokenizer_of(model).encode(text, pair), model.transformer, "explain")
