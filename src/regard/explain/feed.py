"""What a model is fed for a text: the tokens of each side, of every kind of Transformer.

    encoder            [CLS] the text [SEP]                         one side
    decoder            the prompt, then its continuation            one side
    both               the text → the encoder, <s> its output → the decoder

An output that is not given is the model's own: a translation by its search, a continuation by the
likeliest token at each step. All of it is fed in at once (teacher forcing), so what is recorded are
the numbers with which each token of it was predicted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from regard.answer.complete import Completer, GrowingText
from regard.answer.loaded import LoadedModel
from regard.answer.text_inputs import fitting, one_text, row_of
from regard.bundle.bundle import AnyTokenizer
from regard.decode.engine import Continuer
from regard.decode.options import Sampling
from regard.errors import MisuseError
from regard.explain.place import source_ids
from regard.model.trace import Trace
from regard.model.transformer import Transformer
from regard.text.encoded import Encoded
from regard.text.published import PublishedTokenizer
from regard.text.tokenizer import Tokenizer

CONTINUED = 8  # tokens of its own that a decoder goes on with


@dataclass(frozen=True)
class Fed:
    """The tokens of a pass."""

    text: str
    output: str  # "": the model makes no text
    source: list[int]  # what the encoder reads
    target: list[int]  # what the decoder reads
    # the token that should follow each of `target`; a decoder's own choice is the last
    predicted: list[int]
    prompt: int = 0  # how many of a decoder's tokens are the text
    segments: list[int] = field(default_factory=list)

    def through(self, network: Transformer, trace: Trace) -> None:
        """One pass that records everything."""
        if not self.target:
            segments = row_of(network, self.segments)
            memory = network.encode(row_of(network, self.source), trace=trace, segments=segments)
            if network.spec.head != "none":
                network.answer(memory, trace)
            return
        target = row_of(network, self.target)
        if self.source:
            network(row_of(network, self.source), target, trace=trace)
        else:
            hidden = network.decode(target, trace=trace)
            if network.spec.head == "tokens":
                network.token_logits(hidden, trace)


def feed(
    model: LoadedModel,
    text: str,
    output: str | None = None,
    pair: str | None = None,
    most: int | None = None,
) -> Fed:
    """The tokens of a text with its output, a continuation of at most `most` tokens."""
    spec = model.spec
    if spec.image_size:
        how = "caption --attention" if spec.writes_of_images else "see --filter"
        problem = f"{model.bundle} reads images; explained are models of text"
        raise MisuseError("explain", problem, advice=f"`regard {how}` shows where it looked")
    if "draw" in model.tasks:
        problem = f"{model.bundle} draws pictures; explained are models of text"
        advice = "`regard draw --attention` shows which patches looked at which word"
        raise MisuseError("explain", problem, advice=advice)
    if pair is not None and (spec.decoder_layers or not spec.encoder_layers):
        raise MisuseError("pair", "a second text is for encoders")
    if most is not None and (spec.encoder_layers or output is not None):
        raise MisuseError("max_tokens", "for the continuation that a decoder makes itself")
    if spec.encoder_layers and spec.decoder_layers:
        return _with_output(model, text, output)
    if output is not None and not spec.decoder_layers:
        raise MisuseError("answer", "this model is an encoder, it puts out no text")
    if spec.decoder_layers:
        return _continued(model, text, output, CONTINUED if most is None else most)
    encoded = tokenizer_of(model).encode(one_text(text, "explain"), pair)
    fitting(encoded, model.transformer, "explain")
    whole = text if pair is None else f"{text} | {pair}"
    return Fed(whole, "", list(encoded.ids), [], [], segments=list(encoded.segments))


def tokenizer_of(model: LoadedModel) -> PublishedTokenizer:
    """That of an encoder or a decoder; an error where the folder has none."""
    offered = model.tasks
    if not offered:
        raise MisuseError("explain", f"{model.bundle} offers nothing but its logits")
    return model.tokenizer_for(offered[0])


def any_tokenizer(model: LoadedModel) -> AnyTokenizer:
    """The tokenizer of any model."""
    own = model.bundle.tokenizer
    return own if isinstance(own, Tokenizer) else tokenizer_of(model)


def _with_output(model: LoadedModel, text: str, output: str | None) -> Fed:
    """An encoder and a decoder: the text, and the output after its start token."""
    tokenizer, codec = any_tokenizer(model), model.bundle.codec
    if isinstance(tokenizer, Tokenizer):
        source = source_ids(tokenizer, text)
    elif text.strip():
        source = codec.encode([text])[0]
        fitting(Encoded(tuple(source), ()), model.transformer, "explain")
    else:
        raise MisuseError("got an empty text, expected a sentence")
    if output is None:
        best = model.translator.translations([text], model.tasks[0], split=False)[0][0]
        target, output = list(best.ids), best.text
    else:
        target = codec.encode_target(output)
    fed = [codec.frame.start, *target]
    fitting(Encoded(tuple(fed), ()), model.transformer, "explain", "the output")
    return Fed(text, output, source, fed, [*target, codec.frame.end])


def _continued(model: LoadedModel, text: str, output: str | None, most: int) -> Fed:
    """A decoder: the prompt, and what follows it."""
    tokenizer, settings = tokenizer_of(model), model.bundle.settings
    prompt = list(tokenizer.encode(one_text(text, "explain")).ids)
    if not prompt and settings.bos is not None:
        prompt = [settings.bos]
    if not prompt:
        raise MisuseError("got an empty text, expected a prompt")
    network = model.transformer
    if output is None:
        ids, before = [*prompt, *_likeliest(model, prompt, most)], len(prompt)
    else:
        ids = list(tokenizer.encode(text + output).ids)
        before = _shared(prompt, ids)
        if before in (0, len(ids)):
            raise MisuseError("answer", "which adds no token to the prompt", got=output)
    fitting(Encoded(tuple(ids), ()), network, "explain", "the prompt with its continuation")
    with torch.inference_mode():
        hidden = network.decode(row_of(network, ids))
        follows = int(network.token_logits(hidden[0, -1]).argmax())
    continuation, _ = GrowingText(tokenizer, ids[:before], ()).of(ids[before:])
    return Fed(text, continuation, [], ids, [*ids[1:], follows], before)


def _likeliest(model: LoadedModel, prompt: Sequence[int], most: int) -> Iterator[int]:
    """What a decoder goes on with by itself, computed by the engine whose numbers are shown."""
    completer = Completer(model, Sampling(max_tokens=most, beam=1))
    room, reference = completer.room, model.engines.take_to_score()
    if room is not None and len(prompt) >= room:
        problem = (
            f"the text has {len(prompt)} tokens, this model reads {room} and needs room to go on"
        )
        raise MisuseError("explain", problem, advice="shorten it")
    assert isinstance(reference, Continuer), f"{reference.name} does not go on with texts"
    return reference.stream(prompt, completer.decoding(prompt), 0)


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """How many ids two rows begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
