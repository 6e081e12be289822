"""LoRA (Hu et al. 2021): a trained model learns something new through a few small matrices.

    W' = W + (α / r) · B · A          W: out × in, as it was loaded, and it stays
                                      A: r × in,  B: out × r,  r much smaller than both

Only A and B are trained. A begins at random, B at zero: the first W' is W, and the model answers
as it did. A product of rank r is a narrow door, but what a trained model lacks for a new task fits
through it (section 4 of the paper), and r · (in + out) numbers have moments of Adam instead of
in · out.

Here W' stands in W's place and is computed anew after each step. So the model is an ordinary one at
every moment: no kernel and no worker knows of LoRA, and at the end there is nothing left to merge.
The way back finds G = dL/dW' as for any weight, and the chain rule hands it on:

    dL/dB = (α / r) · G · Aᵀ          dL/dA = (α / r) · Bᵀ · G
"""

from collections.abc import Collection, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import CheckpointError, ConfigError, nearest
from regard.model.attention import MultiHeadAttention
from regard.model.feed_forward import FeedForward
from regard.model.spec import Spec
from regard.model.transformer import Transformer

HEAD = "classifier."  # its classes are those of the new task: trained whole, wherever it began
PREFIX = "lora."  # of A, B and W in a checkpoint


class LowRank(nn.Module):
    """A and B of one matrix, and the matrix as it was loaded."""

    start: Tensor

    def __init__(
        self, weight: Float[nn.Parameter, "O I"], rank: int, scale: float, chance: torch.Generator
    ) -> None:
        super().__init__()
        rows, columns = weight.shape
        a = torch.empty(rank, columns, dtype=weight.dtype).uniform_(-1, 1, generator=chance)
        self.a = nn.Parameter((a / columns**0.5).to(weight.device))  # as a linear map begins
        self.b = nn.Parameter(weight.new_zeros(rows, rank))
        self.register_buffer("start", weight.detach().clone())
        self.scale = scale

    def forward(self) -> Float[Tensor, "O I"]:
        """W'"""
        return self.start + self.scale * (self.b @ self.a)

    def hand_on(self, gradient: Float[Tensor, "O I"]) -> None:
        """G, of W', becomes the gradients of A and B."""
        self.a.grad = self.scale * (self.b.T @ gradient)
        self.b.grad = self.scale * (gradient @ self.a.T)


class Lora(nn.Module):
    """What is trained of a model: its pairs of A and B, and the weights in `new` as they are.

    `new` are names of weights that come from chance, such as those of a head. All others are
    frozen; what is frozen already stays so and gets no pair.
    """

    def __init__(
        self,
        model: Transformer,
        rank: int,
        alpha: float,
        maps: Sequence[str],
        new: Collection[str] = (),
        seed: int = 1,
    ) -> None:
        super().__init__()
        self._size = sum(weight.numel() for weight in model.parameters())
        chance = torch.Generator().manual_seed(seed)
        self._adapted = adapted(model, rank, maps, new)
        pairs = {n: LowRank(w, rank, alpha / rank, chance) for n, w in self._adapted.items()}
        whole = {
            name: weight
            for name, weight in model.named_parameters()
            if weight.requires_grad and (name in new or name.startswith(HEAD))
        }
        self._pairs = pairs
        self.pairs = nn.ModuleDict(
            {_key(name.removesuffix(".weight")): pair for name, pair in pairs.items()}
        )
        self.whole = nn.ParameterDict({_key(name): weight for name, weight in whole.items()})
        for name, weight in model.named_parameters():
            weight.requires_grad_(name in pairs or name in whole)

    @torch.no_grad()
    def hand_on(self) -> None:
        """After the way back: the gradients that the model's weights hold become those of A, B."""
        for name, weight in self._adapted.items():
            if weight.grad is not None:
                self._pairs[name].hand_on(weight.grad)
                weight.grad = None

    @torch.no_grad()
    def put(self) -> None:
        """After a step: let the model's weights be W'."""
        for name, weight in self._adapted.items():
            weight.copy_(self._pairs[name]())

    def tensors(self) -> dict[str, Tensor]:
        """A, B and W for a checkpoint; W' is there among the model's weights."""
        return {PREFIX + name: tensor for name, tensor in self.pairs.state_dict().items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Take A, B and W out of a checkpoint's tensors; what is left is the optimizer's."""
        stored = {n.removeprefix(PREFIX): t for n, t in tensors.items() if n.startswith(PREFIX)}
        own = self.pairs.state_dict()
        if {n: t.shape for n, t in stored.items()} != {n: t.shape for n, t in own.items()}:
            raise CheckpointError(
                f"LoRA: the checkpoint holds {len(stored) // 3} maps, by this recipe's [lora] "
                f"there are {len(own) // 3}, or of another rank; resume with the run's own recipe"
            )
        self.pairs.load_state_dict(stored)
        return {name: t for name, t in tensors.items() if not name.startswith(PREFIX)}

    def sentence(self) -> str:
        """How much of the model is trained, for a person."""
        a_and_b, whole = (sum(p.numel() for p in m.parameters()) for m in (self.pairs, self.whole))
        share = (a_and_b + whole) / self._size
        new = f", {whole:,} of what is new" if whole else ""
        return (
            f"{a_and_b + whole:,} of {self._size:,} parameters are trained ({share:.2%}): "
            f"{a_and_b:,} of A and B beside {len(self._pairs)} maps{new}"
        )


def adapted(
    model: Transformer, rank: int, maps: Sequence[str], new: Collection[str] = ()
) -> dict[str, nn.Parameter]:
    """The weights that get a pair, by name: those of `maps` in every layer."""
    weights, chosen = dict(model.named_parameters()), dict[str, nn.Parameter]()
    for path, module in model.named_modules():
        if not isinstance(module, MultiHeadAttention | FeedForward):
            continue
        for name, linear in module.named_children():
            if name in maps and isinstance(linear, nn.Linear):
                chosen[f"{path}.{name}.weight"] = weights[f"{path}.{name}.weight"]
    there = {name.split(".")[-2] for name in chosen}
    for name in maps:
        if name not in there:
            raise ConfigError(f"lora.maps: this model has no map {name!r}{nearest(name, there)}")
    chosen = {n: w for n, w in chosen.items() if w.requires_grad and n not in new}
    if not chosen:
        problem = "all of them are frozen (train.freeze) or new"
        raise ConfigError("lora.maps", problem, advice="nothing to adapt")
    name, side = min(((n, min(w.shape)) for n, w in chosen.items()), key=lambda one: one[1])
    if rank >= side:
        expected = f"less than {side}, the smaller side of {name}"
        advice = "a rank as large as that saves nothing"
        raise ConfigError("lora.rank", got=rank, expected=expected, advice=advice)
    return chosen


def check_maps(spec: Spec, rank: int, maps: Sequence[str]) -> None:
    """Refuse what does not fit before there is a model: one without memory has the same maps."""
    with torch.device("meta"):
        adapted(Transformer(spec, seed=None), rank, maps)


def _key(name: str) -> str:
    """The name of a weight as torch lets modules be called: without dots."""
    return name.replace(".", "/")
