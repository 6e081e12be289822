"""`transformers`: MarianMTModel, from the weights that regard starts from."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor
from train_job import TrainJob
from train_loop import Loop
from transformers import MarianMTModel

from regard.checkpoint.families.marian import MARIAN
from regard.checkpoint.published import save_published
from regard.data.batch import Batch
from regard.model.transformer import Transformer
from regard.text.special import Special


def learner(job: TrainJob) -> Loop:
    """A plain loop around it; the library chooses how attention is computed."""
    roles = Special()
    ids = {
        "pad_token_id": roles.pad,
        "decoder_start_token_id": roles.bos,
        "eos_token_id": roles.eos,
    }
    with TemporaryDirectory() as folder:
        save_published(Transformer(job.spec, seed=job.seed), MARIAN, Path(folder), ids)
        model = MarianMTModel.from_pretrained(folder, dtype=torch.float32)

    def logits(batch: Batch) -> Tensor:
        found: Tensor = model(
            input_ids=batch["source"],
            attention_mask=batch["source_real"].long(),
            decoder_input_ids=batch["target_in"],
            decoder_attention_mask=batch["target_real"].long(),
            use_cache=False,
        ).logits
        return found

    return Loop(f"MarianMTModel, {model.config._attn_implementation} attention", model, logits, job)
