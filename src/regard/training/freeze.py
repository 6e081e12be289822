"""Freezing: weights that training leaves as they are. In: beginnings of their names.

A frozen weight gets no gradient and has no moments of Adam. Dropout inside a frozen part goes on.
"""

from collections.abc import Sequence

import torch
from torch import nn

from regard.errors import ConfigError, nearest
from regard.model.spec import Spec
from regard.model.transformer import Transformer


def freeze(model: nn.Module, beginnings: Sequence[str]) -> None:
    """Freeze every weight whose name is one of `beginnings`, or goes on from one with a dot.

    A matrix that has several names (tied embeddings) is frozen under all of them.
    """
    weights = dict(model.named_parameters(remove_duplicate=False))
    for beginning in beginnings:
        matching = [w for name, w in weights.items() if f"{name}.".startswith(f"{beginning}.")]
        if not matching:
            parts = {name.rsplit(".", n)[0] for name in weights for n in range(name.count(".") + 1)}
            hint = nearest(beginning, sorted(parts))
            if "known" in hint:  # hundreds of names; the first part of each is enough
                hint = nearest(beginning, list(dict.fromkeys(n.split(".")[0] for n in weights)))
            raise ConfigError("train.freeze", f"no weight's name begins with {beginning!r}{hint}")
        for weight in matching:
            weight.requires_grad_(False)
    if not any(weight.requires_grad for weight in weights.values()):
        raise ConfigError("train.freeze", "every weight is frozen", advice="leave one to train")


def check_names(spec: Spec, beginnings: Sequence[str]) -> None:
    """Refuse a typo before there is a model: one without memory has the same names."""
    with torch.device("meta"):
        freeze(Transformer(spec, seed=None), beginnings)


def frozen_share(model: nn.Module) -> str:
    """How much of a model stays as it is, for a person."""
    sizes = [(weight.numel(), weight.requires_grad) for weight in model.parameters()]
    frozen = sum(size for size, trained in sizes if not trained)
    everything = sum(size for size, _ in sizes)
    return f"{frozen / 1e6:.2f} of {everything / 1e6:.2f} million parameters stay as they are"
