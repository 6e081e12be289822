"""Masked words: what may stand where a text says [MASK], with probabilities."""

from dataclasses import dataclass

import torch

from regard.answer.loaded import LoadedModel
from regard.answer.text_inputs import fitting, one_text, row_of
from regard.errors import MisuseError
from regard.text.published import PublishedTokenizer

CUSTOMARY = "[MASK]"  # how BERT writes it


@dataclass(frozen=True)
class Candidate:
    """One word for one mask; `text` is the whole text with it, other masks left as they are."""

    word: str
    probability: float
    id: int
    text: str


@torch.inference_mode()
def fill_text(model: LoadedModel, text: str, top: int) -> list[list[Candidate]]:
    """The `top` likeliest candidates for each mask of the text, in the order of the masks."""
    tokenizer, network = model.tokenizer_for("fill"), model.transformer
    mask = tokenizer.roles.get("mask")
    if mask is None:
        raise MisuseError("fill", "this tokenizer has no mask token, so no word can be left out")
    if top < 1:
        raise MisuseError("fill: top", got=top, expected="1 or more")
    name = tokenizer.pieces([mask])[0]
    whole = one_text(text, "fill").replace(CUSTOMARY, name)  # whatever this tokenizer calls it
    encoded = fitting(tokenizer.encode(whole), network, "fill")
    places = [n for n, i in enumerate(encoded.ids) if i == mask]
    if not places:
        raise MisuseError(f"fill: the text has no {name}; write {name} where a word is missing")
    ids, segments = row_of(network, encoded.ids), row_of(network, encoded.segments)
    memory = network.encode(ids, segments=segments)
    p = network.token_logits(memory[0, places]).softmax(dim=-1)
    best = p.topk(min(top, p.shape[1]), dim=-1)
    candidates = zip(places, best.indices.tolist(), best.values.tolist(), strict=True)
    return [
        [
            Candidate(
                tokenizer.decode([i]).strip() or tokenizer.pieces([i])[0],
                value,
                i,
                _with(tokenizer, encoded.ids, place, i, mask, name),
            )
            for i, value in zip(row, values, strict=True)
        ]
        for place, row, values in candidates
    ]


def _with(
    tokenizer: PublishedTokenizer, ids: tuple[int, ...], place: int, word: int, mask: int, name: str
) -> str:
    """The text with one mask filled; the others are shown by their name."""
    parts: list[str] = []
    run: list[int] = []
    for n, i in enumerate(ids):
        if i == mask and n != place:
            parts += [tokenizer.decode(run), name]
            run = []
        else:
            run.append(word if n == place else i)
    parts.append(tokenizer.decode(run))
    return " ".join(part.strip() for part in parts if part.strip())
