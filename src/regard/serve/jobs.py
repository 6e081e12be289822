"""Requests that make text, in an engine process: divided into searches, their answers put together.

    translate, generate   lines → sentences (answer/translate.py) → translations, or line by line
    complete, chat        prompts → continuations, or piece by piece as they are made

Whatever a search says reaches a job on the threads of the batcher, so each job has a lock.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from regard.answer.chat import AnswerText, Conversation, chat_format
from regard.answer.complete import Completer, GrowingText, sampling_with
from regard.answer.translate import Translation, TranslationPlan
from regard.api.model import Model
from regard.decode.engine import Engine, Hypothesis, distinct
from regard.decode.options import DecodingOptions
from regard.engines.engines import describe
from regard.errors import MisuseError
from regard.serve.batcher import Search, is_exact
from regard.serve.wire import WireMessage
from regard.text.turns import USER, read_messages
from regard.text.turns import Message as Turn

REASON = "finish_reason"
Send = Callable[[WireMessage], None]
Fail = Callable[[Exception], None]


class TextJob:
    """What all of them have: searches, how many are still missing, and where the answer goes.

    Nothing is called with the lock held that may come back for it: `fail` drops the job.
    """

    def __init__(
        self, model: Model, number: int, asked: WireMessage, send: Send, fail: Fail
    ) -> None:
        self.model, self.number, self.asked = model, number, asked
        self._send, self._fail = send, fail
        self._lock = threading.Lock()
        self._over = False
        self.searches: list[Search] = []
        self._input = self._output = 0  # tokens
        self._engine, self._exact = "", False

    def drop(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self._over = True
            for search in self.searches:
                search.wanted = False

    def _take(self, engine: Engine) -> None:
        """What answers, for the header of the answer."""
        self._engine, self._exact = describe(engine), is_exact(engine)

    def _search(
        self, engine: Engine, row: Sequence[int], decoding: DecodingOptions, draw: int
    ) -> Search:
        """One more; whoever makes it says who is told. A row is read once for all its draws."""
        self._input += 0 if draw else len(row)
        search = Search(engine, row, decoding, lambda found: None, self._failed, draw=draw)
        self.searches.append(search)
        return search

    def _failed(self, error: Exception) -> None:
        with self._lock:
            if self._over:
                return
            self._over = True
        self._fail(error)

    def _piece(self, **said: Any) -> None:
        self._send({"id": self.number, "piece": said})

    def _end(self, **said: Any) -> None:
        self._over = True
        usage = {"input": self._input, "output": self._output}
        made = {"usage": usage, "engine": self._engine, "exact": self._exact}
        self._send({"id": self.number, "answer": said | made})


class TranslateJob(TextJob):
    """Lines in, the best translations of each out."""

    def begin(self) -> list[Search]:
        """What has to be searched; nothing where all lines are blank."""
        task = "generate" if "generate" in self.model.tasks else "translate"
        whole = {"split": False} if task == "generate" else {}
        translator = self.model.translator
        options = whole | self.asked.get("options", {})
        self._plan: TranslationPlan = translator.plan(self.asked["texts"], task, **options)
        decoding, self._answers = self._plan.decoding, dict[object, list[Translation]]()
        self._missing = [len(set(keys)) for keys in self._plan.keys]
        self._lines: dict[object, list[int]] = {}  # that a sentence stands in
        for line, keys in enumerate(self._plan.keys):
            for key in set(keys):
                self._lines.setdefault(key, []).append(line)
        engine = translator.take(decoding, self._plan.prefixed)
        self._take(engine)
        sentences = list(self._plan.sentences.values())
        rows, forced = translator.rows(sentences, self._plan.splits), translator.forced(sentences)
        self._found: dict[object, dict[int, list[Hypothesis]]] = {}
        self._draws = decoding.n_best if decoding.draws else 1
        for place, key in enumerate(self._plan.sentences):
            for draw in range(self._draws):
                search = self._search(engine, rows[place], decoding, draw)
                search.prefix = forced[place] if forced else ()
                search.done = partial(self._done, key, draw)
        if not self.searches:
            self._finish()
        return self.searches

    def _done(self, key: object, draw: int, found: list[Hypothesis]) -> None:
        with self._lock:
            if self._over:
                return
            draws = self._found.setdefault(key, {})
            draws[draw] = found
            if len(draws) < self._draws:
                return
            outputs = [h for number in sorted(draws) for h in draws[number]]
            if self._plan.decoding.draws:
                outputs = distinct(outputs)
            self._answered(key, outputs)

    def _answered(self, key: object, outputs: list[Hypothesis]) -> None:
        sentence = self._plan.sentences[key]
        (self._answers[key],) = self.model.translator.translated([sentence], [outputs])
        self._output += len(outputs[0].ids)
        for line in self._lines[key]:
            self._missing[line] -= 1
            if not self._missing[line] and self.asked.get("stream"):
                self._piece(index=line, translations=self._line(line))
        if len(self._answers) == len(self._plan.sentences):
            self._finish()

    def _finish(self) -> None:
        lines = range(len(self._plan.lines))
        if self.asked.get("stream"):
            for line in (number for number in lines if not self._plan.keys[number]):
                self._piece(index=line, translations=self._line(line))
            self._end()
        else:
            self._end(translations=[self._line(line) for line in lines])

    def _line(self, line: int) -> list[WireMessage]:
        return [_as_message(answer) for answer in self._plan.line(line, self._answers)]


def _as_message(translation: Translation) -> WireMessage:
    said = asdict(translation)
    del said["ids"]
    return said


class CompleteJob(TextJob):
    """Prompts in, what follows each out: a choice for each draw, or for each of the best."""

    _finished = 0  # searches

    def begin(self) -> list[Search]:
        options = dict(self.asked.get("options", {}))
        self.model.demand("complete")
        completer = Completer(self.model, sampling_with(options))
        prompts = self.asked["prompts"]
        self._choices: list[WireMessage] = []
        for number, prompt in enumerate(prompts):
            row = completer.row(prompt, number, len(prompts))
            self._continue(completer, row, AsItIs, first=number * completer.sampling.n)
        return self.searches

    def _continue(
        self,
        completer: Completer,
        row: list[int],
        shown: "type[AsItIs] | Callable[[], AnswerText]",
        first: int = 0,
        ends: frozenset[int] = frozenset(),
    ) -> None:
        """The searches of one prompt, whose choices are counted from `first`."""
        sampling, decoding = completer.sampling, completer.decoding(row)
        engine = completer.engine(decoding, [row])
        stream = bool(self.asked.get("stream"))
        if decoding.beam > 1 and (stream or ends):
            problem = "the best of a beam are known when it is over"
            advice = "leave out n, or give a temperature"
            raise MisuseError("n", problem, advice=advice)
        self._take(engine)
        for draw in range(sampling.n if decoding.draws else 1):
            search = self._search(engine, row, decoding, draw)
            tokenizer = self.model.tokenizer_for("complete")
            grown = GrowingText(tokenizer, row, sampling.stops)
            choice = GrowingChoice(self, first + draw, grown, shown(), ends, stream)
            search.done = choice.done
            if stream or sampling.stops or ends:
                search.token = choice.token

    def said(self, index: int, piece: str) -> None:
        """A piece of a choice."""
        self._piece(index=index, text=piece)

    def chosen(self, choices: list[WireMessage], tokens: int) -> None:
        """All that a search found; what the last one found ends the answer."""
        with self._lock:
            if self._over:
                return
            self._output += tokens
            self._choices += choices
            self._finished += 1
            if self.asked.get("stream"):
                for choice in choices:
                    self._piece(index=choice["index"], text="", finish_reason=choice[REASON])
            if self._finished == len(self.searches):
                self._end(choices=sorted(self._choices, key=lambda choice: int(choice["index"])))


class AsItIs:
    """A continuation is shown as the model writes it."""

    ended = False

    def add(self, piece: str) -> str:
        return piece

    def rest(self) -> str:
        return ""


class GrowingChoice:
    """One continuation as it grows."""

    def __init__(
        self,
        job: CompleteJob,
        index: int,
        grown: GrowingText,
        shown: AsItIs | AnswerText,
        ends: frozenset[int],
        stream: bool,
    ) -> None:
        self._job, self._index, self._grown, self._shown = job, index, grown, shown
        self._ends, self._stream, self._text = ends, stream, ""

    def token(self, token: int) -> bool:
        """One more; True: the text is over."""
        if token in self._ends:
            self._over("stop")
            return True
        self._say(self._shown.add(self._grown.add(token)))
        if self._grown.stopped or self._shown.ended:
            self._over("stop")
            return True
        return False

    def done(self, found: list[Hypothesis]) -> None:
        """The search is over: what has not been heard of its output, or all of it."""
        if len(found) > 1:  # of a beam, none of which was heard before
            choices = [self._whole(self._index + place, h) for place, h in enumerate(found)]
            self._job.chosen(choices, sum(len(h.ids) for h in found))
            return
        if not found:
            self._over("stop")
            return
        for token in found[0].ids[len(self._grown.ids) :]:
            if self.token(token):
                return
        self._over("stop" if found[0].finished else "length", found[0].log_probability)

    def _whole(self, index: int, hypothesis: Hypothesis) -> WireMessage:
        text, stopped = self._grown.of(hypothesis.ids)
        reason = "stop" if hypothesis.finished or stopped else "length"
        return _choice(index, text, reason, hypothesis.log_probability)

    def _say(self, piece: str) -> None:
        self._text += piece
        if piece and self._stream:
            self._job.said(self._index, piece)

    def _over(self, reason: str, score: float | None = None) -> None:
        if not self._grown.stopped and not self._shown.ended:
            self._say(self._shown.add(self._grown.rest()))
        self._say(self._shown.rest())
        choice = _choice(self._index, self._text, reason, score)
        self._job.chosen([choice], len(self._grown.ids))


def _choice(index: int, text: str, reason: str, score: float | None) -> WireMessage:
    scored = {} if score is None else {"log_probability": score}
    return {"index": index, "text": text, REASON: reason, **scored}


class ChatJob(CompleteJob):
    """A conversation in, the next answer out."""

    def begin(self) -> list[Search]:
        self.model.demand("complete")
        messages = read_messages(self.asked["messages"], "chat")
        if messages[-1].role != USER:
            problem = f"the last message is of the {messages[-1].role}"
            raise MisuseError("messages", problem, expected="one of the user, which is answered")
        sampling = sampling_with(dict(self.asked.get("options", {})), "chat")
        chat = chat_format(self.model)
        self._choices = []
        conversation = Conversation(self.model, sampling, chat, list[Turn](messages[:-1]))
        row, _, room = conversation.fitted(list(messages))
        sampling = replace(sampling, max_tokens=min(sampling.max_tokens, room))
        stop = chat.template.stop
        self._continue(
            Completer(self.model, sampling), row, lambda: AnswerText(stop), 0, frozenset({chat.end})
        )
        return self.searches


JOBS: dict[str, type[TranslateJob] | type[CompleteJob]] = {
    "translate": TranslateJob,
    "complete": CompleteJob,
    "chat": ChatJob,
}
