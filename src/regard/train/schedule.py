"""The learning rate (section 5.3): rises linearly for `warmup` steps, then falls with 1/√step.

rate = factor · d_model^-0.5 · min(step^-0.5, step · warmup^-1.5)
"""


def noam(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    """The paper's rate at `step` (the first step is 1); its peak is at `step = warmup`."""
    assert step >= 1, "steps count from 1"
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
