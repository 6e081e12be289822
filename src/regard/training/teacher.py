"""The teacher of a distillation: a copy in the student's run, read by each worker for itself."""

import json
from functools import cache
from pathlib import Path

import torch
from safetensors.torch import load_file, save

from regard import atomic
from regard.config import build, to_tables
from regard.model.spec import Spec
from regard.model.transformer import Transformer

SPEC, WEIGHTS = "spec.json", "weights.safetensors"


def save_teacher(model: Transformer, folder: Path) -> None:
    """Write the copy, whole or not at all."""
    weights = {n: p.detach().cpu().contiguous() for n, p in model.named_parameters()}
    with atomic.new_folder(folder) as copy:
        (copy / SPEC).write_text(json.dumps(to_tables(model.spec), indent=1), encoding="utf-8")
        (copy / WEIGHTS).write_bytes(save(weights))


@cache
def load_teacher(folder: str, dtype: torch.dtype, device: str) -> Transformer:
    """Read it once; it never learns."""
    told = json.loads((Path(folder) / SPEC).read_text(encoding="utf-8"))
    model = Transformer(build(Spec, told, f"{folder}: {SPEC}"), seed=None)
    weights = load_file(Path(folder) / WEIGHTS)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
            parameter.requires_grad_(False)
    return model.to(device=device, dtype=dtype).eval()
