"""The losses: a batch in, a loss summed over what the model is asked for out.

    translate   -log p of each target token
    caption     the same, of what is said of a picture
    parse       -log p of each bracket and tag
    classify    -log p of the class; where several may hold, -log p of each answer, yes or no
    complete    -log p of each token of a text, from those before it
    fill        -log p of each word that was masked
    tag         -log p of the tag of each word
    answer      -log p of the place where an answer begins, and of that where it ends
    see         -log p of the class of a picture
    similar     how far the cosine of two texts is from their score; or -log p of the right partner
    distil      classify, and answer and see as a teacher does

Each is data, so that it can be told to another process (training/worker_process.py). An objective
takes one of these, or has one of its own in its file (fit/objectives/), as "count" of
tests/fit/test_new_objective.py does.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.nn import functional as F

from regard.data.batch import IGNORED, Batch
from regard.model.pool import POOL
from regard.model.transformer import Transformer
from regard.training.label_smoothing import (
    SummedLoss,
    projected_cross_entropy,
    smoothed_cross_entropy,
    widened,
)
from regard.training.teacher import load_teacher


@dataclass(frozen=True)
class TranslationLoss:
    """-log p of each target token, with label smoothing (section 5.4)."""

    smoothing: float = 0.0

    def __call__(self, model: Transformer, batch: Batch) -> SummedLoss:
        return translation_loss(model, batch, self.smoothing)


@dataclass(frozen=True)
class ParsingLoss:
    """-log p of the signs of a tree; the words between them are given (decode/tree_rule.py)."""

    smoothing: float = 0.0

    def __call__(self, model: Transformer, batch: Batch) -> SummedLoss:
        return parsing_loss(model, batch, self.smoothing)


@dataclass(frozen=True)
class Classification:
    """One class of each text; or, with float labels (1 or 0), any number of them.

    several   loss = mean over the C classes of  -y log σ(z) - (1 - y) log(1 - σ(z))
    """

    smoothing: float = 0.0

    def __call__(self, model: Transformer, batch: Batch) -> SummedLoss:
        return classification_loss(
            model.answer(encoded(model, batch)), batch["labels"], self.smoothing
        )


@dataclass(frozen=True)
class Seeing:
    """The class of each picture."""

    smoothing: float = 0.0

    def __call__(self, model: Transformer, batch: Batch) -> SummedLoss:
        return classification_loss(seen(model, batch), batch["labels"], self.smoothing)


@dataclass(frozen=True)
class Filling:
    """The words behind the masks (Devlin et al. 2018, section 3.1)."""

    smoothing: float = 0.0

    def __call__(self, model: Transformer, batch: Batch) -> SummedLoss:
        has_label = batch["text_labels"] != IGNORED
        x = encoded(model, batch)[has_label]
        return _words_loss(model, x, batch["text_labels"][has_label], self.smoothing)


@dataclass(frozen=True)
class Completion:
    """The next token at every place, from those of its document before it (GPT)."""

    smoothing: float = 0.0

    def __call__(self, model: Transformer, batch: Batch) -> SummedLoss:
        has_label = batch["text_labels"] != IGNORED
        x = read_ahead(model, batch)[has_label]
        return _words_loss(model, x, batch["text_labels"][has_label], self.smoothing)


@dataclass(frozen=True)
class Tagging:
    """The tag of each word, which is asked for at its first piece."""

    smoothing: float = 0.0

    def __call__(self, model: Transformer, batch: Batch) -> SummedLoss:
        has_label = batch["text_labels"] != IGNORED
        logits = model.answer(encoded(model, batch)[has_label][None])[0]
        return smoothed_cross_entropy(logits, batch["text_labels"][has_label], self.smoothing)


@dataclass(frozen=True)
class Answering:
    """Where an answer begins and where it ends (Devlin et al. 2018, section 4.2), of each window

    ½ · (-log softmax_i(s_i) at the first token of the answer
         -log softmax_j(e_j) at its last)          i, j all real places of the window

    A window that does not hold the answer has both at the first place.
    """

    smoothing: float = 0.0

    def __call__(self, model: Transformer, batch: Batch) -> SummedLoss:
        return span_loss(model.answer(encoded(model, batch)), batch, self.smoothing)


@dataclass(frozen=True)
class Similarity:
    """Vectors of two texts, u and v, point the same way as far as the texts mean the same.

    score       (cos(u, v) - score)²
    negatives   -log softmax_j(scale · cos(u_i, v_j)) at j = i: of all second texts of a batch the
                own one is the most alike. What a worker gets of a batch is its batch.
    """

    pool: str = "mean"  # how the vectors of tokens become one
    negatives: bool = False
    scale: float = 20.0

    def __call__(self, model: Transformer, batch: Batch) -> SummedLoss:
        cosines = self.cosines(model, batch)
        if self.negatives:
            truth = torch.arange(len(cosines), device=cosines.device)
            return smoothed_cross_entropy(self.scale * cosines, truth, 0.0)
        apart = (cosines.diagonal() - batch["score"].to(cosines.dtype)).square().sum()
        return SummedLoss(apart, apart.detach())

    def cosines(self, model: Transformer, batch: Batch) -> Float[Tensor, "B B"]:
        """Of each first text with each second text."""
        first, second = (
            POOL[self.pool](model.encode(batch[text], real), real)
            for text, real in (("text", batch["text_real"]), ("second", batch["second_real"]))
        )
        u, v = (F.normalize(widened(vectors), dim=-1) for vectors in (first, second))
        return u @ v.T


@dataclass(frozen=True)
class Distillation:
    """A student learns from a teacher (Hinton et al. 2015; Sanh et al. 2019), of each text

    labels · -log p(y)
    soft   · T² · KL(softmax(teacher / T) ‖ softmax(student / T))
    hidden · mean over the tokens of 1 - cos(student's last vector, teacher's)
    """

    teacher: str  # the folder of its copy (training/teacher.py)
    temperature: float = 2.0
    labels: float = 1.0
    soft: float = 1.0
    hidden: float = 1.0

    def __call__(self, model: Transformer, batch: Batch) -> SummedLoss:
        x = encoded(model, batch)
        with torch.no_grad():
            teacher = load_teacher(self.teacher, x.dtype, str(x.device))
            theirs = encoded(teacher, batch)
            wanted = teacher.answer(theirs)
        logits = model.answer(x)
        hard = classification_loss(logits, batch["labels"], 0.0)
        soft = soft_loss(logits, wanted, self.temperature)
        apart = hidden_loss(x, theirs, batch["text_real"])
        whole = self.labels * hard.smoothed + self.soft * soft + self.hidden * apart
        return SummedLoss(whole, hard.plain)


def soft_loss(
    logits: Float[Tensor, "B C"], wanted: Float[Tensor, "B C"], temperature: float
) -> Float[Tensor, ""]:
    """T² · KL(teacher ‖ student) at temperature T, summed over the texts."""
    mine = (widened(logits) / temperature).log_softmax(dim=-1)
    theirs = (widened(wanted) / temperature).log_softmax(dim=-1)
    return temperature**2 * (theirs.exp() * (theirs - mine)).sum()


def hidden_loss(
    mine: Float[Tensor, "B S D"], theirs: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"]
) -> Float[Tensor, ""]:
    """1 - cos of the vectors, mean over the real tokens of a text, summed over the texts."""
    apart = 1 - F.cosine_similarity(widened(mine), widened(theirs), dim=-1)
    return ((apart * real).sum(dim=1) / real.sum(dim=1)).sum()


def read_ahead(model: Transformer, batch: Batch) -> Float[Tensor, "B L D"]:
    """A decoder's vectors, each of which has seen its own document up to its place."""
    if "text_documents" in batch:
        return model.decode_packed(batch["text"], batch["text_documents"], batch["text_positions"])
    return model.decode(batch["text"])


def encoded(model: Transformer, batch: Batch) -> Float[Tensor, "B S D"]:
    """The encoder's vectors."""
    return model.encode(batch["text"], batch["text_real"], segments=batch["text_segments"])


def seen(model: Transformer, batch: Batch) -> Float[Tensor, "B C"]:
    """What the model answers to pictures, in the precision of its weights."""
    logits: Tensor = model.answer(model.see(batch["pixels"].to(next(model.parameters()).dtype)))
    return logits


def classification_loss(
    logits: Float[Tensor, "B C"], labels: Shaped[Tensor, "B *_"], epsilon: float
) -> SummedLoss:
    """The loss of logits, summed over the texts."""
    if not labels.is_floating_point():
        return smoothed_cross_entropy(logits, labels, epsilon)
    logits = widened(logits)
    labels = labels.to(logits.dtype)
    plain = F.binary_cross_entropy_with_logits(logits, labels, reduction="sum") / logits.shape[1]
    return SummedLoss(plain, plain.detach())


def span_loss(logits: Float[Tensor, "B S 2"], batch: Batch, epsilon: float) -> SummedLoss:
    """The loss of logits, summed over the windows; padding has no share in it.

    Smoothing spreads over the real places, as `smoothed_cross_entropy` does over all classes.
    """
    real = batch["text_real"]
    log_p = widened(logits).masked_fill(~real[..., None], -torch.inf).log_softmax(dim=1)
    places = torch.stack((batch["begin"], batch["end"]), dim=1)[:, None]  # (B, 1, 2)
    right = -log_p.gather(1, places).sum() / 2
    spread = -(log_p.masked_fill(~real[..., None], 0.0).sum(dim=1) / real.sum(dim=1, keepdim=True))
    smoothed = (1 - epsilon) * right + epsilon * spread.sum() / 2
    return SummedLoss(smoothed, right.detach())


def translation_loss(model: Transformer, batch: Batch, epsilon: float) -> SummedLoss:
    """Teacher forcing: every target position is predicted at once from the true tokens before it.

    Only real positions reach the output layer, so padding costs nothing there.
    """
    x = told(model, batch)
    x, truth = x[batch["target_real"]], batch["target_out"][batch["target_real"]]
    return _words_loss(model, x, truth, epsilon)


def told(model: Transformer, batch: Batch) -> Float[Tensor, "B L D"]:
    """The decoder's vectors for the targets of a batch, which has a text or a picture as source."""
    if "pixels" in batch:
        pixels = batch["pixels"].to(next(model.parameters()).dtype)
        return model.decode(batch["target_in"], model.see(pixels))
    memory = model.encode(batch["source"], batch["source_real"])
    return model.decode(batch["target_in"], memory, batch["source_real"])


def parsing_loss(model: Transformer, batch: Batch, epsilon: float) -> SummedLoss:
    """The same where only some target positions are asked for, those that have a label."""
    x = told(model, batch)
    has_label = batch["target_labels"] != IGNORED
    return _words_loss(model, x[has_label], batch["target_labels"][has_label], epsilon)


def _words_loss(model: Transformer, x: Tensor, truth: Tensor, epsilon: float) -> SummedLoss:
    output = model.output
    if output is not None and output.fast:
        x = output.prepared(x)
        return projected_cross_entropy(x, output.weight, output.bias, truth, epsilon)
    return smoothed_cross_entropy(model.token_logits(x), truth, epsilon)


@torch.inference_mode()
def mean_completion_loss(model: Transformer, batches: Iterable[Batch]) -> tuple[float, int]:
    """How well a decoder foresees batches: -log p of every token that is asked for, on average; and
    how many there are. Nothing is learned from them."""
    device = next(model.parameters()).device
    total, count = 0.0, 0
    for one in batches:
        batch = one.to(device)
        has_label = batch["text_labels"] != IGNORED
        logits = model.token_logits(read_ahead(model, batch)[has_label])
        total += float(smoothed_cross_entropy(logits, batch["text_labels"][has_label], 0.0).plain)
        count += int(has_label.sum())
    return total / max(1, count), count
