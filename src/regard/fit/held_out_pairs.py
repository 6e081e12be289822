"""How an encoder and a decoder do on held-out pairs: the loss of the targets, quick outputs."""

from collections.abc import Callable, Iterable, Sequence

import torch

from regard.answer.translate import Translator
from regard.bundle.codec import Codec
from regard.data.batch import Batch
from regard.decode.engine import Layout
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import NO_RULES, DecodingOptions, Rules
from regard.model.transformer import Transformer
from regard.training.label_smoothing import SummedLoss
from regard.training.losses import translation_loss

TargetLoss = Callable[[Transformer, Batch, float], SummedLoss]  # the last is ε


@torch.inference_mode()
def target_loss(
    model: Transformer, batches: Iterable[Batch], loss: TargetLoss = translation_loss
) -> float:
    """-log p of what is asked of the targets, mean per token."""
    device = next(model.parameters()).device
    total, tokens = 0.0, 0
    for one in batches:
        batch = one.to(device)
        total += float(loss(model, batch, 0.0).plain)
        tokens += batch.targets
    return total / max(1, tokens)


def greedy_texts(
    model: Transformer, codec: Codec, texts: Sequence[str], rules: Rules = NO_RULES
) -> list[str]:
    """The quick outputs that validation uses, each text as it is."""
    engine = TorchEngine(model, codec.frame, rules, Layout(workers=torch.get_num_threads()))
    translator = Translator(codec, DecodingOptions(beam=1), None, lambda search, prefixed: engine)
    try:
        return [best[0].text for best in translator.translations(texts, "validate", split=False)]
    finally:
        engine.close()
