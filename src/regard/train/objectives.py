"""What a model is trained for: a batch in, a loss summed over its predicted tokens out."""

from regard.data.batch import Batch
from regard.model.transformer import Transformer
from regard.train.label_smoothing import Loss, smoothed_cross_entropy


def translation_loss(model: Transformer, batch: Batch, epsilon: float) -> Loss:
    """Teacher forcing: every target position is predicted at once from the true tokens before it.

    Only real positions reach the output layer, so padding costs nothing there.
    """
    memory = model.encode(batch.source, batch.source_real)
    x = model.decode(batch.target_in, memory, batch.source_real)
    logits = model.token_logits(x[batch.target_real])
    return smoothed_cross_entropy(logits, batch.target_out[batch.target_real], epsilon)
