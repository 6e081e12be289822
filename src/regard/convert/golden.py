"""Golden outputs: what a model answers to fixed inputs, written down and compared later.

Inputs are made from the spec alone, so that any model has some: two texts of made-up ids, one of
them padded (a target too, where there is a decoder under an encoder), or one image of sines. Of the
answers a few numbers are kept, their mean and their spread, and the tokens of a greedy search.
"""

import hashlib
import platform
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.version import __version__

FORMAT = 1
LENGTHS = (9, 5)  # tokens of the two texts
TARGET = 6
STEPS = 12  # of the greedy search
SAMPLES = 48
TOLERANCE = 1e-4  # of the largest answer, or of 1 where all are smaller
Golden = dict[str, Any]


@dataclass(frozen=True)
class GoldenInputs:
    """Inputs: ids with a mask (and a target), or pixels."""

    source: Tensor
    real: Tensor | None = None
    target: Tensor | None = None

    @property
    def is_image(self) -> bool:
        return self.source.is_floating_point()


def make_probe(spec: Spec) -> GoldenInputs:
    """The inputs for a spec; the same spec gives the same inputs on every machine."""
    if spec.image_size:
        count = spec.channels * spec.image_size**2
        waves = torch.arange(count, dtype=torch.float64).mul(0.37).sin().float()
        image = waves.view(1, spec.channels, spec.image_size, spec.image_size)
        if not spec.writes_of_images:
            return GoldenInputs(image)
        most = min(TARGET, spec.position_limit or TARGET)
        return GoldenInputs(image, target=_ids(spec, 101, most)[:1])
    most = spec.position_limit or max(LENGTHS)
    lengths = [min(length, most) for length in LENGTHS]
    real = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    source = _ids(spec, 11, max(lengths)) * real  # padding has id 0
    both = spec.encoder_layers > 0 and spec.decoder_layers > 0
    return GoldenInputs(source, real, _ids(spec, 101, min(TARGET, most)) if both else None)


def _ids(spec: Spec, start: int, length: int) -> Tensor:
    """Ids spread over the vocabulary, two rows of them."""
    numbers = torch.arange(start, start + len(LENGTHS) * length) * 7919
    return (numbers % spec.vocabulary).view(len(LENGTHS), length)


@torch.inference_mode()
def answers(model: Transformer, probe: GoldenInputs) -> Tensor:
    """What comes out at real positions: logits, or vectors where the model has no head."""
    spec = model.spec
    if probe.is_image:
        memory = model.see(probe.source)
        if probe.target is not None:
            return model.token_logits(model.decode(probe.target, memory)).flatten(0, 1)
        return memory if spec.head == "none" else model.answer(memory)
    if spec.decoder_layers == 0:
        memory = model.encode(probe.source, probe.real, segments=_segments(spec, probe.source))
        out = memory if spec.head == "none" else model.answer(memory)
        return out if spec.head == "classes" else out[probe.real]
    if spec.encoder_layers == 0:
        x = model.decode(probe.source, real=probe.real)
        return (model.token_logits(x) if spec.head == "tokens" else x)[probe.real]
    assert probe.target is not None
    x = model.decode(probe.target, model.encode(probe.source, probe.real), probe.real)
    return (model.token_logits(x) if spec.head == "tokens" else x).flatten(0, 1)


def _segments(spec: Spec, source: Tensor) -> Tensor | None:
    """A second text from the fourth token on, where the model tells texts apart."""
    if spec.segments < 2:
        return None
    return (torch.arange(source.shape[1]) >= 3).long().expand_as(source)


@torch.inference_mode()
def greedy_tokens(model: Transformer, probe: GoldenInputs) -> tuple[list[int], list[float]]:
    """The most likely token at each step (or position), and its lead over the second."""
    spec = model.spec
    if spec.head != "tokens" or spec.decoder_layers == 0:
        if spec.head == "none":
            return [], []
        return _best(answers(model, probe).flatten(0, -2))
    memory, real, tokens = None, None, probe.source[:1]
    if spec.encoder_layers and probe.target is not None:
        real = None if probe.real is None else probe.real[:1]
        memory, tokens = model.read(probe.source[:1], real), probe.target[:1, :1]
    steps = min(STEPS, (spec.position_limit or 1_000_000) - tokens.shape[1])
    cache, chosen, leads = model.new_cache(), list[int](), list[float]()
    for _ in range(max(0, steps)):
        logits = model.token_logits(model.decode(tokens, memory, real, cache)[:, -1])
        (token,), (lead,) = _best(logits)
        chosen.append(token)
        leads.append(lead)
        tokens = torch.tensor([[token]])
    return chosen, leads


def _best(rows: Tensor) -> tuple[list[int], list[float]]:
    top = rows.topk(min(2, rows.shape[-1]), dim=-1)
    leads = top.values[:, 0] - top.values[:, -1]
    return top.indices[:, 0].tolist(), [round(lead, 6) for lead in leads.tolist()]


def weights_digest(model: Transformer) -> str:
    """SHA-256 over every weight with its name and shape, the same in whatever file it lies."""
    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        tensor = parameter.detach().float().cpu().contiguous()
        digest.update(f"{name}{list(tensor.shape)}".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """What may change a number between two days."""
    return {
        "regard": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def golden_of(model: Transformer) -> Golden:
    """Everything that golden.json holds."""
    probe = make_probe(model.spec)
    out = answers(model, probe).double()
    flat = out.flatten()
    step = max(1, flat.numel() // SAMPLES)
    tokens, leads = greedy_tokens(model, probe)
    return {
        "format": FORMAT,
        "versions": versions(),
        "weights": weights_digest(model),
        "parameters": sum(p.numel() for p in model.parameters()),
        "inputs": _inputs(probe),
        "shape": list(out.shape),
        "every": step,
        "values": [round(x, 6) for x in flat[::step][:SAMPLES].tolist()],
        "mean": round(float(flat.mean()), 7),
        "deviation": round(float(flat.std(correction=0)), 7),
        "largest": round(float(flat.abs().max()), 6),
        "greedy": tokens,
        "leads": leads,
    }


def _inputs(probe: GoldenInputs) -> Golden:
    if probe.is_image or probe.real is None:
        target = {} if probe.target is None else {"target": probe.target.tolist()}
        return {"pixels": "sin(0.37 n)", "shape": list(probe.source.shape), **target}
    rows = {"ids": probe.source.tolist(), "lengths": probe.real.sum(1).tolist()}
    return rows | ({} if probe.target is None else {"target": probe.target.tolist()})
