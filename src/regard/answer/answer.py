"""A question and a context → the span that answers it, or none; or an answer that is written.

    found     by a model with head "spans": the best span of all windows of the context
    written   by a model that makes text: it is shown context and question (`PROMPTS`), and may
              write what the context does not say

    p(span) = exp(score) / Σ exp(score)     over all spans of all windows, and "no answer"

"No answer" has the least s_0 + e_0 of all windows (Rajpurkar et al. 2018; BERT's own way): a window
without the answer is no reason to doubt another. It is the answer where it leads by more than the
threshold.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from regard.answer.answers import Answers
from regard.answer.chat import chat_format, stream_answer
from regard.answer.complete import Completer, sampling_with
from regard.answer.loaded import LoadedModel
from regard.answer.spans import LONGEST, best_spans, span_band
from regard.answer.text_inputs import logits_by_length
from regard.bundle.encoder_file import ANSWERED
from regard.errors import MisuseError
from regard.printable import Advance, unheard
from regard.runs.columns import recipe_of
from regard.runs.folder import RunFolder
from regard.runs.objective_sections import AnswerSection
from regard.text.encoded import ContextWindow
from regard.text.turns import USER, Message

STRIDE = 128  # tokens from the beginning of one window to that of the next, of a published folder
CROWDED = 100  # spans looked at for each that is asked for: most overlap a better one
MOST_WRITTEN = 40  # tokens of an answer that is written
# task of a model that makes text → what it is shown; T5 was trained on these very words
PROMPTS = {
    "generate": "question: {question} context: {context}",
    "chat": "{context}\n\n{question}",
    "complete": "{context}\n\nQuestion: {question}\nAnswer:",
}


@dataclass(frozen=True)
class QuestionAnswer:
    """A span of the context; without text: the context holds no answer.

    What was written, not found, has neither a place nor a probability.
    """

    text: str
    probability: float | None = None
    start: int = 0  # characters of the context
    end: int = 0
    line: int = 0  # of the context, from 1; 0: no place
    source: str = ""  # the file, where several were searched


def answering_task(model: LoadedModel) -> str:
    """By which of its tasks a model answers questions; one that has none is an error."""
    task = next((name for name in ("answer", *PROMPTS) if name in model.tasks), "answer")
    model.demand(task)
    return task


def answer_questions(
    model: LoadedModel,
    pairs: Sequence[tuple[str, str]],
    top: int = 1,
    threshold: float | None = None,
    stride: int | None = None,
    longest: int = LONGEST,
    advance: Advance = unheard,
) -> list[Answers[QuestionAnswer]]:
    """The `top` best answers to each question of its context, best first.

    `threshold`: by how much "no answer" must lead; None: 0, and never of a model that was trained
    on questions that all have an answer. `stride`: None is that of the model's training.
    """
    stride = own_stride(model) if stride is None else stride
    settings = _settings(model, pairs, top, threshold, stride=stride, longest=longest)
    if settings.task != "answer":
        return [_written(model, settings.task, *pair, advance) for pair in pairs]
    seen = _look(model, pairs, settings.count, stride, longest, advance)
    both = zip(pairs, seen, strict=True)
    return [
        Answers(_ranked([spans], [ContextPassage(context)], top, settings.lead))
        for (_, context), spans in both
    ]


@dataclass(frozen=True)
class ContextPassage:
    """A text that may hold an answer: where it is from, and the line that it begins with."""

    text: str
    source: str = ""
    first: int = 1


def answer_from_passages(
    model: LoadedModel,
    question: str,
    passages: Sequence[ContextPassage],
    top: int = 1,
    threshold: float | None = None,
) -> Answers[QuestionAnswer]:
    """The best answers that several texts hold together: all are compared as windows of one."""
    context = "\n\n".join(passage.text for passage in passages)
    settings = _settings(model, [(question, context)], top, threshold)
    if settings.task != "answer":
        return _written(model, settings.task, question, context)
    pairs = [(question, passage.text) for passage in passages]
    seen = _look(model, pairs, settings.count, own_stride(model), LONGEST)
    return Answers(_ranked(seen, passages, top, settings.lead))


@dataclass(frozen=True)
class _Settings:
    """How it is answered."""

    task: str
    lead: float  # of "no answer"; infinite: it never is the answer
    count: int  # spans of a window that are looked at


def _settings(
    model: LoadedModel,
    pairs: Sequence[tuple[str, str]],
    top: int,
    threshold: float | None,
    **numbers: int,
) -> _Settings:
    """What is asked for, checked."""
    for name, value in {"top": top, **numbers}.items():
        if value < 1:
            raise MisuseError(f"answer: {name}", got=value, expected="1 or more")
    if threshold is not None and math.isnan(threshold):
        raise MisuseError("answer: threshold", got=threshold, expected="a number")
    for name, texts in zip(("question", "context"), zip(*pairs, strict=True), strict=False):
        if not all(text.strip() for text in texts):
            raise MisuseError(f"answer: {name}", "it is empty", expected="a text")
    task, bundle = answering_task(model), model.bundle
    never = task == "answer" and bundle.is_run and bundle.encoder_file.kind == ANSWERED
    lead = (math.inf if never else 0.0) if threshold is None else threshold
    return _Settings(task, lead, 1 if top == 1 else CROWDED * top)


@dataclass
class SpansSeen:
    """What the windows of one context hold."""

    spans: list[tuple[float, int, int]] = field(default_factory=list)  # score, characters
    null: float = math.inf
    log_sum: float = -math.inf  # log Σ exp(score) of all spans


def own_stride(model: LoadedModel) -> int:
    """From window to window as a run was trained."""
    recipe = recipe_of(RunFolder(model.bundle.path)) if model.bundle.is_run else None
    own = None if recipe is None else recipe.own
    return own.stride if isinstance(own, AnswerSection) else STRIDE


def windows_of(
    model: LoadedModel, question: str, context: str, stride: int | None = None
) -> list[ContextWindow]:
    """The question with each window of its context, as far as the model reads."""
    stride = own_stride(model) if stride is None else stride
    limit = model.bundle.longest_text
    windows, cut = model.tokenizer_for("answer").encode_windows(question, context, limit, stride)
    if cut:
        problem = f"the question is {cut} tokens too long; half of {limit} are for the context"
        raise MisuseError("answer", problem, advice="shorten it")
    return windows


@torch.no_grad()
def _look(
    model: LoadedModel,
    pairs: Sequence[tuple[str, str]],
    count: int,
    stride: int,
    longest: int,
    advance: Advance = unheard,
) -> list[SpansSeen]:
    """All windows of all contexts, those of similar lengths together."""
    rows = [windows_of(model, *pair, stride) for pair in pairs]
    flat = [(n, window) for n, windows in enumerate(rows) for window in windows]
    left, seen = [len(windows) for windows in rows], [SpansSeen() for _ in rows]
    texts = [window.text for _, window in flat]
    tokenizer = model.tokenizer_for("answer")
    for numbers, logits in logits_by_length(model.transformer, tokenizer, texts):
        context = torch.zeros(logits.shape[:2], dtype=torch.bool)
        for row, number in zip(context, numbers, strict=True):
            places = flat[number][1].places
            row[places.start : places.stop] = True
        bands = span_band(logits.double(), context.to(logits.device), longest).cpu()
        nulls = logits[:, 0].double().sum(dim=-1).tolist()
        for band, null, number in zip(bands, nulls, numbers, strict=True):
            n, window = flat[number]
            _add(seen[n], band, null, window, count)
            left[n] -= 1
            advance(int(left[n] == 0))
    return seen


def _add(
    seen: SpansSeen, band: torch.Tensor, null: float, window: ContextWindow, count: int
) -> None:
    seen.null = min(seen.null, null)
    whole = torch.tensor([seen.log_sum, float(band.flatten().logsumexp(dim=0))])
    seen.log_sum = float(whole.logsumexp(dim=0))
    for span in best_spans(band, count):
        first, last = window.offsets[span.begin], window.offsets[span.end]
        assert first is not None and last is not None
        seen.spans.append((span.score, first[0], last[1]))


def _ranked(
    seen: Sequence[SpansSeen], passages: Sequence[ContextPassage], top: int, lead: float
) -> list[QuestionAnswer]:
    """The best spans of which none overlaps a better one, and "no answer" where it is first."""
    with_null, null = lead != math.inf, min(each.null for each in seen)
    sums = [each.log_sum for each in seen] + [null] * with_null
    whole = float(torch.tensor(sums, dtype=torch.float64).logsumexp(dim=0))
    spans = [(-span[0], n, *span[1:]) for n, each in enumerate(seen) for span in each.spans]
    chosen = list[tuple[float, int, int, int]]()
    for negative, n, first, last in sorted(spans):
        start, end = _trimmed(passages[n].text, first, last)
        apart = all(n != m or end <= a or start >= b for _, m, a, b in chosen)
        if start < end and apart:
            chosen.append((-negative, n, start, end))
        if len(chosen) == top:
            break
    answers = [
        QuestionAnswer(
            passages[n].text[start:end],
            math.exp(score - whole),
            start,
            end,
            passages[n].first + passages[n].text.count("\n", 0, start),
            passages[n].source,
        )
        for score, n, start, end in chosen
    ]
    if not chosen or (with_null and null - chosen[0][0] > lead):
        nothing = math.exp(null - whole) if with_null else 0.0
        return [QuestionAnswer("", nothing), *answers][:top]
    return answers


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Without white space at its ends: some pieces have it before their letters."""
    span = text[start:end]
    return start + len(span) - len(span.lstrip()), end - len(span) + len(span.rstrip())


def _written(
    model: LoadedModel,
    task: str,
    question: str,
    context: str,
    advance: Advance = unheard,
) -> Answers[QuestionAnswer]:
    """What a model that makes text writes when it is shown both."""
    prompt = PROMPTS[task].format(question=question.strip(), context=context.strip())
    if task == "generate":
        text = model.translator.translations([prompt], task, split=False)[0][0].text
    elif task == "chat":
        sampling = sampling_with({"max_tokens": MOST_WRITTEN}, "answer")
        messages = [Message(USER, prompt)]
        text = "".join(stream_answer(model, messages, sampling, chat_format(model)))
    else:
        sampling = sampling_with({"max_tokens": MOST_WRITTEN, "stop_text": "\n"}, "answer")
        completer = Completer(model, sampling)
        _check_fits(model, prompt, completer.room)
        text = completer.completions([prompt])[0][0].text
    advance(1)
    return Answers([QuestionAnswer(text.strip())])


def _check_fits(model: LoadedModel, prompt: str, room: int | None) -> None:
    """A decoder reads question and context at once, and needs places for its answer."""
    count = len(model.tokenizer_for("complete").encode(prompt).ids)
    if room is not None and count >= room:
        problem = f"question and context have {count:,} tokens, this model reads {room:,}"
        advice = "shorten the context, or make an index of it (`regard index`) and ask that"
        raise MisuseError("answer", problem, advice=advice)
