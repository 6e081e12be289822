"""How good an encoder fills holes: loss, the share of hidden words found, pseudo-perplexity."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from regard.answer.pseudo_perplexity import pseudo_perplexity
from regard.data.noise import Masking
from regard.data.text_batch import IGNORED, TextBatch
from regard.model.transformer import Transformer
from regard.training.label_smoothing import smoothed_cross_entropy
from regard.training.objectives import encoded


@dataclass(frozen=True)
class Filled:
    """`loss` in nats per hidden token; `accuracy`: the share whose likeliest candidate is right."""

    loss: float
    accuracy: float
    pseudo_perplexity: float | None  # of some texts; None where none were asked for

    @property
    def numbers(self) -> dict[str, float | None]:
        """For the log, beside the loss."""
        return {"accuracy": self.accuracy, "pseudo_perplexity": self.pseudo_perplexity}

    @property
    def score(self) -> float:
        """What is judged by."""
        return self.accuracy

    def sentence(self) -> str:
        """For a person."""
        surprise = self.pseudo_perplexity
        said = "" if surprise is None else f" · pseudo-perplexity {surprise:.2f}"
        return f"validation loss {self.loss:.4f} · {self.accuracy:.1%} of hidden words found{said}"


@torch.inference_mode()
def found_again(
    model: Transformer,
    batches: Iterable[TextBatch],
    texts: Sequence[tuple[list[int], int]],
    masking: Masking,
    pad: int,
    token_budget: int,
) -> Filled:
    """Ask for what the batches hide; and for every token of `texts`, one at a time."""
    model.eval()
    device = next(model.parameters()).device
    total, right, count = 0.0, 0, 0
    for one in batches:
        batch = one.to(device)
        asked = batch.labels != IGNORED
        logits = model.token_logits(encoded(model, batch)[asked])
        truth = batch.labels[asked]
        total += float(smoothed_cross_entropy(logits, truth, 0.0).plain)
        right += int((logits.argmax(dim=-1) == truth).sum())
        count += len(truth)
    surprise = None
    if texts:
        ordinary = set(masking.ordinary.tolist())
        rows, first = zip(*texts, strict=True)
        surprise = pseudo_perplexity(
            model, rows, first, ordinary.__contains__, masking.mask, pad, token_budget
        )
    return Filled(total / max(1, count), right / max(1, count), surprise)
