"""What a model is trained for: a batch in, a loss summed over its predicted tokens out."""

from dataclasses import dataclass

from regard.data.batch import Batch
from regard.model.kernels import fast_kernels
from regard.model.transformer import Transformer
from regard.train.label_smoothing import Loss, projected_cross_entropy, smoothed_cross_entropy


@dataclass(frozen=True)
class Translation:
    """The objective as data, which can be told to another process."""

    smoothing: float = 0.0

    def __call__(self, model: Transformer, batch: Batch) -> Loss:
        return translation_loss(model, batch, self.smoothing)


def translation_loss(model: Transformer, batch: Batch, epsilon: float) -> Loss:
    """Teacher forcing: every target position is predicted at once from the true tokens before it.

    Only real positions reach the output layer, so padding costs nothing there.
    """
    memory = model.encode(batch.source, batch.source_real)
    x = model.decode(batch.target_in, memory, batch.source_real)
    x, truth = x[batch.target_real], batch.target_out[batch.target_real]
    output = model.output
    if output is not None and fast_kernels():
        x = output.prepared(x)
        return projected_cross_entropy(x, output.weight, output.bias, truth, epsilon)
    return smoothed_cross_entropy(model.token_logits(x), truth, epsilon)
