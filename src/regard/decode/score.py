"""How likely a given output is: log p of each of its tokens, in one pass (teacher forcing)."""

from collections.abc import Sequence

import torch

from regard.decode.engine import Frame, Row
from regard.model.masks import padded
from regard.model.transformer import Transformer

BATCH_CELLS = 8192  # rows × (longest source + longest target) of one batch


@torch.inference_mode()
def score_pairs(
    model: Transformer, sources: Sequence[Row], targets: Sequence[Row], frame: Frame
) -> list[list[float]]:
    """log p(token | source, tokens before it) for each target token and the end token."""
    scores: list[list[float]] = [[] for _ in sources]
    device = next(model.parameters()).device
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]) - len(targets[i]))
    while order:
        cells = len(sources[order[0]]) + len(targets[order[0]]) + 1
        rows, order = order[: max(1, BATCH_CELLS // cells)], order[max(1, BATCH_CELLS // cells) :]
        source, real = padded([sources[i] for i in rows], frame.pad, device)
        target, _ = padded([[frame.start, *targets[i]] for i in rows], frame.pad, device)
        expected, _ = padded([[*targets[i], frame.end] for i in rows], frame.pad, device)
        logits = model(source, target, real)
        at_least_single = torch.promote_types(logits.dtype, torch.float32)
        log_p = torch.log_softmax(logits, dim=-1, dtype=at_least_single)
        token_log_ps = log_p.gather(2, expected[:, :, None])[:, :, 0].tolist()
        for i, row in zip(rows, token_log_ps, strict=True):
            scores[i] = row[: len(targets[i]) + 1]
    return scores


@torch.inference_mode()
def score_continuations(
    model: Transformer, prompts: Sequence[Row], targets: Sequence[Row]
) -> list[list[float]]:
    """log p(token | prompt, tokens before it) for each target token, by a decoder-only model."""
    scores = []
    device = next(model.parameters()).device
    for prompt, target in zip(prompts, targets, strict=True):
        row = torch.tensor([[*prompt, *target]], device=device)
        logits = model.token_logits(model.decode(row[:, :-1])[:, len(prompt) - 1 :])
        log_p = torch.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), -1)
        scores.append(log_p[0].gather(1, row[0, len(prompt) :, None])[:, 0].tolist())
    return scores
