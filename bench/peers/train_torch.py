"""`torch.nn.Transformer` with what it leaves to its user: embedding, positions, output."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from train_job import TrainJob
from train_loop import Loop

from regard.data.batch import Batch
from regard.model.positions import sinusoids
from regard.model.spec import Spec
from regard.model.transformer import Transformer

LONGEST = 1024
PARTS = {
    "attention_norm.norm": "norm1",
    "feed_forward.inner": "linear1",
    "feed_forward.outer": "linear2",
}


class Translator(nn.Module):
    """As in PyTorch's tutorial on translation; one matrix for both embeddings and the output."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.embedding = nn.Embedding(spec.vocabulary, spec.d_model)
        self.dropout = nn.Dropout(spec.dropout)
        self.transformer = nn.Transformer(
            spec.d_model,
            spec.heads,
            spec.encoder_layers,
            spec.decoder_layers,
            spec.ffn_size,
            spec.dropout,
            batch_first=True,
        )
        # Its one number for dropout also stands for attention weights and hidden layers. They get
        # the spec's, or losses could not be compared; the steps become a little faster by that.
        for module in self.transformer.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = spec.attention_dropout
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = spec.ffn_dropout
        self.scale = math.sqrt(spec.d_model)
        self.register_buffer("positions", sinusoids(LONGEST, spec.d_model))

    def _embedded(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.shape[1]])

    def forward(self, batch: Batch) -> Tensor:
        length = batch["target_in"].shape[1]
        x = self.transformer(
            self._embedded(batch["source"]),
            self._embedded(batch["target_in"]),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            src_key_padding_mask=~batch["source_real"],
            tgt_key_padding_mask=~batch["target_real"],
            memory_key_padding_mask=~batch["source_real"],
        )
        return F.linear(x, self.embedding.weight)


def learner(job: TrainJob) -> Loop:
    """A plain loop around it, from the weights that regard starts from."""
    model = Translator(job.spec)
    start_from(model, Transformer(job.spec, seed=job.seed))
    return Loop("torch.nn.Transformer", model, model, job)


def start_from(model: Translator, ours: Transformer) -> None:
    """Copy weights: W_Q, W_K and W_V are one matrix there. Its two norms more, one after each
    stack, start as the identity on what is normed already."""
    weights = {name: weight.detach() for name, weight in ours.named_parameters()}
    theirs = {"embedding.weight": weights["source_embedding.weight"]}
    layers = {name.rsplit(".", 3)[0] for name in weights if name.endswith("attention.query.weight")}
    for layer in layers:
        has_cross = f"{layer}.cross.query.weight" in weights
        parts = PARTS | {"feed_forward_norm.norm": "norm3" if has_cross else "norm2"}
        attentions = {"attention": "self_attn"}
        if has_cross:
            parts |= {"cross_norm.norm": "norm2"}
            attentions |= {"cross": "multihead_attn"}
        for kind in ("weight", "bias"):
            for own, other in attentions.items():
                parts |= {f"{own}.output": f"{other}.out_proj"}
                maps = [weights[f"{layer}.{own}.{m}.{kind}"] for m in ("query", "key", "value")]
                theirs[f"transformer.{layer}.{other}.in_proj_{kind}"] = torch.cat(maps)
            for own, other in parts.items():
                theirs[f"transformer.{layer}.{other}.{kind}"] = weights[f"{layer}.{own}.{kind}"]
    missing, unknown = model.load_state_dict(theirs, strict=False)
    assert not unknown, unknown
    assert all(".norm." in f".{name}" or name == "positions" for name in missing), missing
