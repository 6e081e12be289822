"""The five ways to cut text into pieces. In: a kind's name. Out: an untrained tokenizer, a trainer.

    kind         pieces of "the animals"   unknown text        decode(encode(s)) == s
    bytes        ▁the ▁animal s            there is none       for every string
    gpt2         ▁the ▁animal s            there is none       for every string
    unigram      ▁the ▁animal s            <unk>               if every character was seen
    merges       the animal s              <unk>               but for white space, so too
    words        the animals               <unk>               no: readable, not exact
    characters   t h e ▁ a n i m a l s     <unk>               if every character was seen

`gpt2` is `bytes` cut as GPT-2 cuts, which other programs know by that name (text/to_gguf.py); it
takes vowel signs for no part of a word, which Hindi pays for with many more pieces.

The same word at the start and in the middle of a sentence should be the same piece. The first three
therefore put exactly one space before every non-empty text and take exactly one away
after decoding: " a" becomes "  a" and comes back as " a". This is written in the tokenizer file
itself, so that any program that reads the file with the `tokenizers` library does the same.
`merges` marks the end of a word instead (text/merges.py) and joins words with one space.
Nothing else is changed: no lower case, no Unicode normalisation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from regard.text.merges import without_spelled_specials
from regard.text.pieces import (
    END_OF_WORD,
    join_words,
    spell_bytes,
    spell_end_of_word,
    spell_metaspace,
    spell_plain,
)
from regard.text.special import TEXTS

_SPECIALS = list(TEXTS.values())

# Letters with their accents and vowel signs (\p{M}: without it Hindi falls apart), numbers, other
# signs, each with the one space before it; any other white space stands alone.
BYTES_SPLIT = r" ?(?:[\p{L}\p{M}]+|\p{N}+|[^\s\p{L}\p{M}\p{N}]+)|\s"
# A word may hold apostrophes and hyphens inside (don't, well-known); each sign stands alone.
WORDS_SPLIT = r"\w+(?:['’-]\w+)*|[^\w\s]"
# Unigram looks every piece up, also "<s>"; cut at < and > so that text never spells a special one.
_NO_SPECIALS_SPLIT = r"[<>]"


@dataclass(frozen=True)
class TokenizerKind:
    """One row of the table above; what differs between kinds is only this data."""

    build: Callable[[], Backend]
    trainer: Callable[[int], trainers.Trainer]
    least: int  # smallest vocabulary, special tokens included
    spell: Callable[[str], bytes]  # token as the library writes it → the text it stands for
    by_bytes: bool = False  # byte-level BPE
    is_word: bool = False  # is each piece a word of its own?
    join: Callable[[Sequence[str]], str] | None = None  # instead of the library's decoder
    has_merges: bool = False  # some can be left out by chance
    ends_words: bool = False  # is the end of a word marked, not its beginning?
    learned: Callable[[Backend], Backend] = lambda backend: backend  # what is kept after training


def _build_bytes() -> Backend:
    backend = _build_gpt2()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(BYTES_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return backend


def _build_gpt2() -> Backend:
    backend = Backend(models.BPE())
    backend.normalizer = normalizers.Prepend(" ")
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    backend.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return backend


def _build_unigram() -> Backend:
    backend = Backend(models.Unigram())
    backend.normalizer = normalizers.Prepend(" ")
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(prepend_scheme="never"),
            pre_tokenizers.Split(Regex(_NO_SPECIALS_SPLIT), "isolated"),
        ]
    )
    backend.decoder = decoders.Metaspace(prepend_scheme="always")
    return backend


def _build_merges() -> Backend:
    backend = Backend(models.BPE(unk_token=TEXTS["unk"], end_of_word_suffix=END_OF_WORD))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.decoder = decoders.BPEDecoder(suffix=END_OF_WORD)
    return backend


def _build_words() -> Backend:
    backend = Backend(models.WordLevel(unk_token=TEXTS["unk"]))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(WORDS_SPLIT), "removed", invert=True)
    return backend


def _build_characters() -> Backend:
    backend = Backend(models.WordLevel(unk_token=TEXTS["unk"]))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    backend.decoder = decoders.Fuse()
    return backend


def _bytes_trainer(size: int) -> trainers.Trainer:
    return trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,  # a pair seen once teaches nothing
        special_tokens=_SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )


def _merges_trainer(size: int) -> trainers.Trainer:
    return trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=_SPECIALS,
        end_of_word_suffix=END_OF_WORD,
        show_progress=False,
    )


def _unigram_trainer(size: int) -> trainers.Trainer:
    return trainers.UnigramTrainer(
        vocab_size=size, special_tokens=_SPECIALS, unk_token=TEXTS["unk"], show_progress=False
    )


def _word_trainer(size: int) -> trainers.Trainer:
    return trainers.WordLevelTrainer(vocab_size=size, special_tokens=_SPECIALS, show_progress=False)


_BYTES = TokenizerKind(
    _build_bytes,
    _bytes_trainer,
    256 + len(_SPECIALS),
    spell_bytes,
    by_bytes=True,
    has_merges=True,
)
KINDS = {
    "bytes": _BYTES,
    "gpt2": replace(_BYTES, build=_build_gpt2),
    "unigram": TokenizerKind(_build_unigram, _unigram_trainer, 1 + len(_SPECIALS), spell_metaspace),
    "merges": TokenizerKind(
        _build_merges,
        _merges_trainer,
        1 + len(_SPECIALS),
        spell_end_of_word,
        has_merges=True,
        ends_words=True,
        learned=without_spelled_specials,
    ),
    "words": TokenizerKind(
        _build_words, _word_trainer, 1 + len(_SPECIALS), spell_plain, is_word=True, join=join_words
    ),
    "characters": TokenizerKind(_build_characters, _word_trainer, 1 + len(_SPECIALS), spell_plain),
}
