"""Which words an output rests on: a decoder's continuation, a translation, or one word of it.

    f = log p(output | text) = Σ log p(token | text and the tokens before it)

The words that account for it are those before the output: of the prompt where a decoder goes on
with a text, of the source where an encoder reads one. For one word of the output they are all that
stand before it. What is put out is fed in as it is; only what comes before is hidden and told
(explain/gradients.py). Attention is that of the last layer, decoder self-attention or
cross-attention, from the places that predict the output.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.answer.loaded import LoadedModel
from regard.answer.text_inputs import row_of
from regard.bundle.bundle import AnyTokenizer
from regard.explain.account import Account, ends_of_path, make_account, word_groups
from regard.explain.feed import Fed, any_tokenizer, feed
from regard.explain.gradients import attribute
from regard.explain.place import find_word
from regard.model.embedding import Embedding
from regard.model.masks import Mask
from regard.model.trace import Trace
from regard.model.transformer import Transformer

MOST_NUMBERS = 1 << 25  # logits that one pass may hold


@dataclass(frozen=True)
class ChosenOutput:
    """What is explained: tokens of the output, and the places that predict them."""

    text: str
    places: list[int]


def explain_output(
    model: LoadedModel,
    text: str,
    output: str | None = None,
    word: str | None = None,
    steps: int | None = None,
    most: int | None = None,
) -> Account:
    """Which words the output, or one word of it, rests on; without one, the model's own."""
    fed = feed(model, text, output, most=most)
    tokenizer, network = any_tokenizer(model), model.transformer
    chosen = _chosen(fed, tokenizer, word)
    ids = fed.source or fed.target[: chosen.places[-1] + 1]
    told = len(ids) if fed.source else chosen.places[0] + 1
    embedding = _reads(network, fed)
    rows, baseline, hidden_by = ends_of_path(embedding.weight, tokenizer, ids, told)
    after = torch.tensor([fed.predicted[place] for place in chosen.places], device=rows.device)

    def log_p(path: Float[Tensor, "B L D"]) -> Float[Tensor, " B"]:
        hidden = _hidden(network, path, fed)[:, chosen.places]
        scores = network.token_logits(hidden).log_softmax(dim=-1)
        return scores.gather(2, after.expand(len(path), -1)[..., None]).sum(dim=(1, 2))

    together = MOST_NUMBERS // (len(after) * model.spec.vocabulary)
    attribution = attribute(log_p, rows, baseline, steps, max(1, together))
    groups = word_groups(tokenizer, ids[:told])
    looked = _looked(network, fed, chosen.places)
    quantity = f"log p({chosen.text})"
    return make_account(chosen.text, quantity, text, groups, attribution, looked, hidden_by)


def _chosen(fed: Fed, tokenizer: AnyTokenizer, word: str | None) -> ChosenOutput:
    """All of the output, or one word of it; where nothing is put out, the token that ends it."""
    first = 0 if fed.source else fed.prompt - 1  # the place that predicts its first token
    last = len(fed.predicted) if fed.source else len(fed.predicted) - 1
    places = list(range(first, last)) or [first]
    if word is None:
        ending = tokenizer.pieces([fed.predicted[first]])[0]
        return ChosenOutput(fed.output.strip() or ending, places)
    groups = tokenizer.word_groups([fed.predicted[place] for place in places])
    found = find_word([name for name, _ in groups], word)[0]
    return ChosenOutput(groups[found][0], [places[n] for n in groups[found][1]])


def _reads(network: Transformer, fed: Fed) -> Embedding:
    """The embedding of the side whose words are to account for the output."""
    embedding = network.source_embedding if fed.source else network.target_embedding
    assert embedding is not None
    return embedding


def _hidden(network: Transformer, path: Float[Tensor, "B L D"], fed: Fed) -> Float[Tensor, "B L D"]:
    """The decoder's vectors for rows that need not be rows of any token."""
    x = _reads(network, fed).assembled(path)
    if not fed.source:
        assert network.decoder is not None
        alone: Tensor = network.decoder(x, Mask(causal=True))
        return alone
    assert network.encoder is not None
    target: Int[Tensor, "B L"] = row_of(network, fed.target).expand(len(path), -1)
    return network.decode(target, network.encoder(x, Mask()))


@torch.no_grad()
def _looked(network: Transformer, fed: Fed, places: list[int]) -> Float[np.ndarray, " S"]:
    """How much the last layer looked at each token from these places, mean over heads."""
    trace = Trace()
    fed.through(network, trace)
    part = "cross" if fed.source else "self"
    weights = trace[f"decoder.{network.spec.decoder_layers - 1}.{part}.weights"][0]
    looked: np.ndarray = weights.mean(dim=0)[places].mean(dim=0).double().cpu().numpy()
    return looked
