"""Validation while training: loss and perplexity on all held-out pairs, BLEU on some of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sacrebleu.metrics.bleu import BLEU

from regard.answer.translate import Translator
from regard.bundle.codec import own_codec
from regard.data.batch import make_batch
from regard.data.buckets import plan_epoch
from regard.data.store import PairStore
from regard.decode.engine import Layout
from regard.decode.engines.torch import TorchEngine
from regard.decode.hypothesis import Search
from regard.model.transformer import Transformer
from regard.prepare.pairs import Prepared
from regard.text.special import Special
from regard.text.tokenizer import Tokenizer
from regard.training.memory_limit import is_out_of_memory
from regard.training.objectives import translation_loss

LEAST = 128  # tokens: a smaller batch would not help either


@dataclass(frozen=True)
class Validation:
    """`loss` in nats per target token, without label smoothing."""

    loss: float
    bleu: float | None

    @property
    def perplexity(self) -> float:
        """e^loss: among how many tokens the model hesitates."""
        return math.exp(min(self.loss, 700.0))

    @property
    def numbers(self) -> dict[str, float | None]:
        """For the log, beside the loss."""
        return {"perplexity": self.perplexity, "bleu": self.bleu}

    @property
    def score(self) -> float | None:
        """What translations are judged by."""
        return self.bleu

    def sentence(self) -> str:
        bleu = "" if self.bleu is None else f" · BLEU {self.bleu:.1f} (greedy)"
        return f"validation loss {self.loss:.4f} · perplexity {self.perplexity:.2f}{bleu}"


def validate(model: Transformer, data: Prepared, token_budget: int, sentences: int) -> Validation:
    """Loss on every pair; BLEU of greedy outputs on the first `sentences` of them (0: none)."""
    model.eval()
    special = data.tokenizer.special
    loss = _loss_in_memory(model, data.valid, special, token_budget)
    chosen = data.valid_texts[:sentences]
    if not chosen:
        return Validation(loss, None)
    outputs = greedy_texts(model, data.tokenizer, [source for source, _ in chosen])
    references = [target for _, target in chosen]
    return Validation(loss, BLEU(force=True).corpus_score(outputs, [references]).score)


def greedy_texts(model: Transformer, tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """The quick translation that validation uses, each text as it is."""
    codec = own_codec(tokenizer)
    engine = TorchEngine(model, codec.frame, layout=Layout(workers=torch.get_num_threads()))
    translator = Translator(codec, Search(beam=1), None, lambda search, prefixed: engine)
    try:
        return [found[0].text for found in translator.translations(texts, split=False)]
    finally:
        engine.close()


def _loss_in_memory(
    model: Transformer, pairs: PairStore, special: Special, token_budget: int
) -> float:
    """`mean_loss`, in smaller batches where memory is too small: the same but for rounding."""
    while True:
        try:
            return mean_loss(model, pairs, special, token_budget)
        except (MemoryError, RuntimeError) as error:
            if token_budget < LEAST or not is_out_of_memory(error):
                raise
        token_budget //= 2


@torch.inference_mode()
def mean_loss(model: Transformer, pairs: PairStore, special: Special, token_budget: int) -> float:
    """-log p of the target, mean per token."""
    device = next(model.parameters()).device
    total, tokens = 0.0, 0
    lengths = pairs.source_lengths, pairs.target_lengths
    for numbers in plan_epoch(*lengths, token_budget=token_budget, seed=0, epoch=0):
        batch = make_batch([pairs[int(i)] for i in numbers], special).to(device)
        total += float(translation_loss(model, batch, epsilon=0.0).plain)
        tokens += int(batch.target_real.sum())
    return total / tokens
