"""regard's own dialect, for models that read: labels, tags, words, trees, answers, passages.

    /v1/classify    labels of a text          /v1/answer      the span that answers a question
    /v1/tag         labels of its words       /v1/summarize   a text in fewer words
    /v1/fill        words for [MASK]          /v1/search      passages of the server's index
    /v1/similar     how alike two texts are   /v1/parse       the tree of a sentence

POST, JSON. A list of texts is answered with a list, one text with a list of one.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from regard.errors import MisuseError
from regard.serve.asking import answered, ask, state_of
from regard.serve.refusal import HttpRefusal
from regard.serve.schemas import (
    MOST_BEAM,
    OneOrMore,
    RefusedBody,
    StrictModel,
    listed,
    refusals,
)
from regard.serve.wire import WireMessage

router = APIRouter(prefix="/v1", tags=["regard"], responses=refusals(RefusedBody))
TopCount = Annotated[int, Field(ge=1, le=1000)]


async def asked_of(
    request: Request, name: str | None, task: str, wire: WireMessage, kept: str
) -> Response:
    """Ask the model for one thing, and answer with it."""
    model = state_of(request).pool.named(name, task)
    made = await ask(request, model, task, wire)
    return answered(model, made, {"model": model.name, kept: made[kept]})


class NamedRequest(StrictModel):
    """Every request may name a model; else it is the first that offers this."""

    model: str | None = Field(None, examples=["minilm"])


class NamedAnswer(BaseModel):
    """Every answer says who answered."""

    model: str


class ClassifyRequest(NamedRequest):
    """Texts, or pairs of them where the model compares two."""

    text: OneOrMore = Field(examples=["A fine film, if a little slow."])
    pair: OneOrMore | None = Field(
        None, examples=["It is slow."], description="The second text, or one for each."
    )
    top: TopCount | None = Field(None, examples=[3], description="Only so many labels.")
    cut: bool = Field(False, description="Read a text that is too long as far as it goes.")


class ScoredLabel(BaseModel):
    """A label; `piece` is the token it is about, where each has its own."""

    label: str
    probability: float
    piece: str = ""


class ClassifyAnswer(NamedAnswer):
    """The labels of each text, likeliest first."""

    labels: list[list[ScoredLabel]]


@router.post("/classify", response_model=ClassifyAnswer)
async def classify(request: Request, asked: ClassifyRequest) -> Response:
    """Label a text or several."""
    wire: WireMessage = {"texts": listed(asked.text), "top": asked.top, "cut": asked.cut}
    if asked.pair is not None:
        pairs = listed(asked.pair)
        if len(pairs) not in (1, len(wire["texts"])):
            problem = f"got {len(pairs)} for {len(wire['texts'])} texts"
            raise HttpRefusal(400, MisuseError("pair", problem, expected="one, or one for each"))
        wire["pairs"] = pairs * len(wire["texts"]) if len(pairs) == 1 else pairs
    return await asked_of(request, asked.model, "classify", wire, "labels")


class TagRequest(NamedRequest):
    """Texts whose words are labelled."""

    text: OneOrMore = Field(examples=["Ada lived in London."])
    cut: bool = False


class TaggedWord(BaseModel):
    """A word with its tag and its place in the text."""

    word: str
    tag: str
    probability: float


class TagAnswer(NamedAnswer):
    """The words of each text."""

    tags: list[list[TaggedWord]]


@router.post("/tag", response_model=TagAnswer)
async def tag(request: Request, asked: TagRequest) -> Response:
    """Label each word of a text or of several."""
    wire = {"texts": listed(asked.text), "cut": asked.cut}
    return await asked_of(request, asked.model, "tag", wire, "tags")


class FillRequest(NamedRequest):
    """Texts with [MASK] in them."""

    text: OneOrMore = Field(examples=["The cat [MASK] on the mat."])
    top: TopCount = 5


class FilledWord(BaseModel):
    """A word that may stand there."""

    word: str
    probability: float
    id: int
    text: str = Field(description="The whole text with it.")


class FillAnswer(NamedAnswer):
    """For each text, for each [MASK], the likeliest words."""

    masks: list[list[list[FilledWord]]]


@router.post("/fill", response_model=FillAnswer)
async def fill(request: Request, asked: FillRequest) -> Response:
    """Find the words that [MASK] stands for."""
    wire = {"texts": listed(asked.text), "top": asked.top}
    return await asked_of(request, asked.model, "fill", wire, "masks")


class ParseRequest(NamedRequest):
    """Sentences whose trees are looked for."""

    text: OneOrMore = Field(examples=["The dog sleeps ."])
    beam: Annotated[int, Field(ge=1, le=MOST_BEAM)] | None = Field(None, examples=[4])
    alpha: Annotated[float, Field(ge=-10, le=10)] | None = Field(None, examples=[0.6])


class ParsedSentence(BaseModel):
    """A sentence's tree as bracket files have it, its words, and the tag of each."""

    brackets: str = Field(examples=["(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))"])
    words: list[str]
    tags: list[str]
    score: float
    log_probability: float


class ParseAnswer(NamedAnswer):
    """The tree of each sentence."""

    parses: list[ParsedSentence]


@router.post("/parse", response_model=ParseAnswer)
async def parse(request: Request, asked: ParseRequest) -> Response:
    """Find the tree of a sentence or of several."""
    wire = {"texts": listed(asked.text), "beam": asked.beam, "alpha": asked.alpha}
    return await asked_of(request, asked.model, "parse", wire, "parses")


class SimilarRequest(NamedRequest):
    """Two texts, two lists of them, or one and a list."""

    first: OneOrMore = Field(examples=["A cat sleeps."])
    second: OneOrMore = Field(examples=["A kitten naps on the sofa."])


class SimilarAnswer(NamedAnswer):
    """The cosine of each pair."""

    similarities: list[float]


@router.post("/similar", response_model=SimilarAnswer)
async def similar(request: Request, asked: SimilarRequest) -> Response:
    """How alike two texts are."""
    first, second = listed(asked.first), listed(asked.second)
    if isinstance(asked.first, str):
        first = first * len(second)
    elif isinstance(asked.second, str):
        second = second * len(first)
    if len(first) != len(second):
        problem = f"got {len(first)} texts and {len(second)}"
        raise HttpRefusal(400, MisuseError("second", problem, expected="as many as of the first"))
    wire = {"first": first, "second": second}
    return await asked_of(request, asked.model, "similar", wire, "similarities")


class AnswerRequest(NamedRequest):
    """A question, or several, about a text."""

    question: OneOrMore = Field(examples=["Who won?"])
    context: str = Field(examples=["The final was won by Emma."])
    top: TopCount = 1
    threshold: float | None = Field(
        None, examples=[0.0], description='By how much "no answer" must lead.'
    )


class FoundAnswer(BaseModel):
    """A span of the context; an empty text: it holds no answer."""

    text: str
    probability: float | None
    start: int
    end: int
    line: int
    source: str


class AnswersAnswer(NamedAnswer):
    """The answers to each question, best first."""

    answers: list[list[FoundAnswer]]


@router.post("/answer", response_model=AnswersAnswer)
async def answer(request: Request, asked: AnswerRequest) -> Response:
    """Find the answer to a question in a text."""
    wire = {
        "questions": listed(asked.question),
        "context": asked.context,
        "top": asked.top,
        "threshold": asked.threshold,
    }
    return await asked_of(request, asked.model, "answer", wire, "answers")


class SummarizeRequest(NamedRequest):
    """Texts to be said in fewer words."""

    text: OneOrMore = Field(examples=["The cat sat. The dog is red. The house is by the sea."])
    length: str | None = Field(None, examples=["2 sentences"], max_length=40)


class SummarySentence(BaseModel):
    """A sentence of the text, where sentences were taken."""

    text: str
    number: int
    line: int
    score: float


class SummaryText(BaseModel):
    """A summary, and how it came about."""

    text: str
    way: Literal["written", "continued", "extracted"]
    windows: int
    sentences: list[SummarySentence]
    taken: list[int]
    lines: list[int]


class SummarizeAnswer(NamedAnswer):
    """One for each text."""

    summaries: list[SummaryText]


@router.post("/summarize", response_model=SummarizeAnswer)
async def summarize(request: Request, asked: SummarizeRequest) -> Response:
    """A text in fewer words."""
    wire = {"texts": listed(asked.text), "length": asked.length}
    return await asked_of(request, asked.model, "summarize", wire, "summaries")


class SearchRequest(NamedRequest):
    """Words to search the server's index for."""

    query: str = Field(min_length=1, examples=["why is the dot product scaled?"])
    top: Annotated[int, Field(ge=1, le=100)] = 5
    mode: Literal["semantic", "keyword", "hybrid"] = "semantic"


class MarkedWord(BaseModel):
    """A word that the match rests on."""

    word: str
    start: int
    end: int
    share: float | None


class FoundPassage(BaseModel):
    """A passage, its file and lines."""

    file: str
    first: int
    last: int
    score: float
    text: str
    highlights: list[MarkedWord]
    ranks: dict[str, int]


class SearchAnswer(NamedAnswer):
    """Passages, best first."""

    matches: list[FoundPassage]


@router.post("/search", response_model=SearchAnswer)
async def search(request: Request, asked: SearchRequest) -> Response:
    """Passages of the index that answer a query."""
    index = state_of(request).options.index
    if index is None:
        error = MisuseError("search", "this server has no index", advice="start it with --index")
        raise HttpRefusal(404, error, "no_index")
    model = state_of(request).pool.named(asked.model, "embed")
    wire = {"query": asked.query, "top": asked.top, "mode": asked.mode, "index": str(index)}
    made = await ask(request, model, "search", wire)
    return answered(model, made, {"model": model.name, "matches": made["matches"]})
