"""Which place of a pass is asked for: layer, head and word, checked by the spec and the vocabulary.

Nothing here imports torch or reads a weight, so a command can refuse what the model or the text
does not have before it takes seconds to load (`check_place`, `known_ids`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from regard.bundle.bundle import AnyTokenizer
from regard.errors import MisuseError
from regard.model.spec import Spec
from regard.text.tokenizer import Tokenizer

# kind → (stack, sub-layer, which side asks, which side is looked at)
KINDS = {
    "encoder": ("encoder", "self", "source", "source"),
    "decoder": ("decoder", "self", "target", "target"),
    "cross": ("decoder", "cross", "target", "source"),
}
LONGEST_POSITION = 9  # digits
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
SPACE = "▁"  # how a piece shows that a space came before it
PUNCTUATION = SPACE + ".,;:!?…\"'“”„‘’«»()[]।"
WORDS_NAMED = 40  # in an error; a longer sentence is cut


@dataclass(frozen=True)
class Place:
    """What the walk looks at: one head of one attention, asked by one token."""

    kind: str
    layer: int  # from 1
    head: int  # from 1
    query: int  # from 0

    @property
    def stack(self) -> str:
        return KINDS[self.kind][0]

    @property
    def asks(self) -> str:
        return KINDS[self.kind][2]

    @property
    def seen(self) -> str:
        return KINDS[self.kind][3]

    @property
    def part(self) -> str:
        """The name of the attention in the trace."""
        return f"{self.stack}.{self.layer - 1}.{KINDS[self.kind][1]}"


@dataclass(frozen=True)
class Tokens:
    """One side of the pass: ids, a label for each, and the words they spell with their places."""

    ids: list[int]
    pieces: list[str]
    words: list[tuple[str, list[int]]]

    def find(self, query: str | None) -> int:
        """The place (from 0) of a word, else of a position counted from 1; None: the first."""
        if query is None:
            return 0
        wanted = query.strip()
        for alike in (str, str.casefold, _bare):
            for word, places in self.words:
                if wanted and alike(word) == alike(wanted):
                    return places[0]
        if wanted.isdecimal() and len(wanted) <= LONGEST_POSITION:
            position = int(wanted)
            if 1 <= position <= len(self.ids):
                return position - 1
        if wanted in self.pieces:
            return self.pieces.index(wanted)
        words = [word for word, _ in self.words]
        listed = " ".join(words[:WORDS_NAMED])
        more = " …" if len(words) > WORDS_NAMED else ""
        problem = f"the text has {len(self.ids)} tokens"
        expected = f"a position from 1 to {len(self.ids)} or one of its words: {listed}{more}"
        raise MisuseError("word", problem, got=query, expected=expected)


def _bare(word: str) -> str:
    """A word without the punctuation that clings to it."""
    letters = [place for place, letter in enumerate(word) if letter.isalnum()]
    return word[letters[0] : letters[-1] + 1].casefold() if letters else word


def kinds_of(spec: Spec) -> tuple[str, ...]:
    """The attentions that a model has; of several, cross-attention first."""
    if spec.encoder_layers and spec.decoder_layers:
        return ("cross", "encoder", "decoder")
    return ("encoder",) if spec.encoder_layers else ("decoder",)


def layer_number(spec: Spec, kind: str, layer: int | None) -> int:
    """A layer counted from 1, None being the last, checked against the model."""
    if kind not in KINDS:
        raise MisuseError("kind", got=kind, expected=f"one of {', '.join(KINDS)}")
    if kind not in kinds_of(spec):
        (only,) = kinds_of(spec)
        raise MisuseError("kind", f"this model has {only} self-attention only", got=kind)
    stack = KINDS[kind][0]
    last = spec.encoder_layers if stack == "encoder" else spec.decoder_layers
    number = last if layer is None else layer
    if not 1 <= number <= last:
        raise MisuseError("layer", f"the {stack} of this model has layers 1 to {last}", got=number)
    return number


def check_place(spec: Spec, kind: str, layer: int | None, head: int | None) -> int:
    """The layer's number, if the model has this layer and this head (None: all of them)."""
    number = layer_number(spec, kind, layer)
    if head is not None and not 1 <= head <= spec.heads:
        raise MisuseError("head", f"this model has heads 1 to {spec.heads}", got=head)
    return number


def source_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """The tokens of a text as the encoder reads them."""
    if not text.strip():
        raise MisuseError("got an empty text, expected a sentence")
    return [*tokenizer.encode(text), tokenizer.special.eos]


def known_ids(
    tokenizer: Tokenizer, side: str, text: str, translation: str | None
) -> list[int] | None:
    """The tokens of the side that asks, without its special ends; None: the model will say."""
    source = source_ids(tokenizer, text)
    if side == "source":
        return source
    return None if translation is None else tokenizer.encode(translation)


def tokens_of(tokenizer: AnyTokenizer, ids: list[int]) -> Tokens:
    """One side with its pieces and words."""
    return Tokens(ids, tokenizer.pieces(ids), tokenizer.word_groups(ids))


def groups_of(tokenizer: AnyTokenizer, ids: list[int], pieces: bool) -> list[tuple[str, list[int]]]:
    """The rows or columns of a map: words, or each piece by itself."""
    if pieces:
        return [(piece, [i]) for i, piece in enumerate(tokenizer.pieces(ids))]
    return tokenizer.word_groups(ids)


def told_apart(words: Sequence[str]) -> list[str]:
    """Words that occur more than once get a number: the₁ … the₂."""
    seen: dict[str, int] = {}
    named = []
    for word in words:
        seen[word] = seen.get(word, 0) + 1
        number = str(seen[word]).translate(SUBSCRIPTS) if words.count(word) > 1 else ""
        named.append(word + number)
    return named


def find_word(words: Sequence[str], wanted: str) -> list[int]:
    """The places of a word: as written, else without case and punctuation, else by its position.

    Positions count from 1. A word that occurs twice has two places, and among sub-words a word has
    the places of all its pieces.
    """
    if not wanted.strip():
        raise MisuseError("word", "got an empty one", expected=_choice(words))
    for written in (str, _without_punctuation):
        places = [i for i, word in enumerate(words) if written(word) == written(wanted)]
        if places and written(wanted):
            return places
    apart = told_apart(words)
    if wanted in apart:
        return [apart.index(wanted)]
    if spelled := _spelled_by_pieces(words, wanted):
        return spelled
    if wanted.isascii() and wanted.isdigit():
        if 1 <= int(wanted) <= len(words):
            return [int(wanted) - 1]
        problem = f"got position {wanted}, the text has {len(words)}"
        raise MisuseError("word", problem, expected=_choice(words))
    raise MisuseError("word", f"{wanted!r} is not in the text", expected=_choice(words))


def _spelled_by_pieces(words: Sequence[str], wanted: str) -> list[int]:
    """The run of pieces, the first of which begins a word, that spells `wanted`; or none."""
    begins = [i for i, word in enumerate(words) if word.startswith(SPACE)]
    for first, after in pairwise([*begins, len(words)]):
        for end in range(first + 2, after + 1):
            if _without_punctuation("".join(words[first:end])) == _without_punctuation(wanted):
                return list(range(first, end))
    return []


def _without_punctuation(word: str) -> str:
    return word.strip(PUNCTUATION).casefold()


def _choice(words: Sequence[str]) -> str:
    """What could have been asked for, with positions."""
    named = [f"{i} {word}" for i, word in enumerate(words[:WORDS_NAMED], start=1)]
    more = ", …" if len(words) > WORDS_NAMED else ""
    return f"a word or a position of: {', '.join(named)}{more}"
