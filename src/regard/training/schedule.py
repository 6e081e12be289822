"""The learning rate of each step; all four rise linearly for `warmup` steps.

noam       factor · d_model^-0.5 · min(step^-0.5, step · warmup^-1.5)                (section 5.3)
cosine     after the warm-up half a wave, from the peak down to the floor at the last step:
           floor + (peak - floor) · (1 + cos(π (step - warmup) / (steps - warmup))) / 2
plateau    the peak, multiplied by a factor each time validation stands still, at least the floor
constant   the peak
"""

import math


def noam(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    """The paper's rate at `step` (the first step is 1); its peak is at `step = warmup`."""
    assert step >= 1, "steps count from 1"
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


def constant(step: int, peak: float, warmup: float) -> float:
    """The peak, from step `warmup` on."""
    assert step >= 1, "steps count from 1"
    return peak * min(1.0, step / warmup)


def cosine(step: int, peak: float, warmup: float, steps: float, floor: float = 0.0) -> float:
    """Half a wave of the cosine from the peak at `warmup` to the floor at `steps` and after it."""
    if step <= warmup:
        return constant(step, peak, warmup)
    done = min(1.0, (step - warmup) / max(1, steps - warmup))
    return floor + (peak - floor) * (1 + math.cos(math.pi * done)) / 2


def plateau(
    step: int, peak: float, warmup: int, factor: float, cuts: int, floor: float = 0.0
) -> float:
    """The peak after so many cuts; when to cut, validation decides (runs/rates.py)."""
    return constant(step, max(floor, peak * factor**cuts), warmup)
