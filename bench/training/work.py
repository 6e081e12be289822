"""How much work a step is, and how much of it the machine could do in a second."""

import numpy as np
from child import ask
from needs import say
from numpy.typing import NDArray

from regard.model.spec import Spec

PRECISIONS = ("fp32", "bf16")
SIZE = 1024  # of the square matrices


def operations(spec: Spec, source: NDArray[np.int64], target: NDArray[np.int64]) -> int:
    """Of the matrix products of one step: forward, and twice as many on the way back.

    A multiplication and its addition are two operations. Only real tokens count, in look-ahead
    attention only what may be seen, and nothing but matrix products: what a learner computes
    beyond that is its own loss.
    """
    d, f, inner = spec.d_model, spec.ffn_size, spec.heads * spec.k
    s, t = int(source.sum()), int(target.sum())
    maps = 2 * d * inner  # W_Q and W_O, or W_K and W_V, of one token
    ffn = 2 * d * f
    # Scores and weighted values: each a product over K for every head, query and key.
    own = 2 * inner * int((source**2).sum())
    ahead = 2 * inner * int((target * (target + 1) // 2).sum())
    across = 2 * inner * int((source * target).sum())
    encoder = s * (2 * maps + ffn) + own
    decoder = t * (3 * maps + ffn) + s * maps + ahead + across
    output = t * d * spec.vocabulary
    return 3 * 2 * (spec.encoder_layers * encoder + spec.decoder_layers * decoder + output)


def throughput(cores: int, seconds: float) -> dict[str, float]:
    """Operations per second in each precision; nothing where it could not be measured."""
    answer = ask("matmul.py", {"cores": cores, "size": SIZE, "seconds": seconds})
    if "failure" in answer:
        say(f"matrix throughput: {answer['failure']}")
    return {name: rate for name, rate in answer.items() if name in PRECISIONS}
