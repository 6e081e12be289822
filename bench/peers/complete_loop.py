"""A decoder trained by the loop that people write around transformers' GPT-2, letter by letter.

Random windows of a text, AdamW, a cosine with warm-up, clipped gradients: nanoGPT's settings for a
CPU. Options are what experts add: `fused`, AdamW as one kernel; `autocast`, bf16.
"""

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel

RATE, LOWEST, WARMUP, CLIP, DECAY = 1e-3, 1e-4, 100, 1.0, 0.1


def rate(step: int, steps: int) -> float:
    """Up in a line, down in half a cosine."""
    if step < WARMUP:
        return RATE * (step + 1) / (WARMUP + 1)
    way = (step - WARMUP) / max(1, steps - WARMUP)
    return LOWEST + 0.5 * (1 + math.cos(math.pi * way)) * (RATE - LOWEST)


def optimizer_of(model: nn.Module, fused: bool) -> torch.optim.AdamW:
    """Matrices decay, vectors do not."""
    weights = list(model.parameters())
    groups = [
        {"params": [w for w in weights if w.dim() >= 2], "weight_decay": DECAY},
        {"params": [w for w in weights if w.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.99), fused=fused)


@torch.inference_mode()
def held_out_loss(model: nn.Module, ids: Tensor, width: int) -> float:
    """-log p of every letter but the first, in windows that follow each other."""
    model.eval()
    total, count = 0.0, len(ids) - 1
    windows = [(ids[i : i + width], ids[i + 1 : i + 1 + width]) for i in range(0, count, width)]
    for first in range(0, len(windows), 64):
        part = [(x[: len(y)], y) for x, y in windows[first : first + 64]]
        for length in {len(y) for _, y in part}:
            rows = [(x, y) for x, y in part if len(y) == length]
            logits = model(torch.stack([x for x, _ in rows])).logits
            truth = torch.stack([y for _, y in rows])
            total += F.cross_entropy(logits.flatten(0, 1), truth.flatten(), reduction="sum").item()
    return total / count


def main(question: dict[str, Any]) -> dict[str, Any]:
    torch.manual_seed(question["seed"])
    if question.get("threads"):
        torch.set_num_threads(question["threads"])
    text = Path(question["text"]).read_text(encoding="utf-8")
    letters = {letter: i for i, letter in enumerate(sorted(set(text)))}
    ids = torch.tensor([letters[letter] for letter in text])
    cut = int(len(ids) * 0.9)
    learned, held_out = ids[:cut], ids[cut:]
    width, rows, steps = question["width"], question["rows"], question["steps"]
    config = GPT2Config(
        vocab_size=len(letters), n_positions=width, n_embd=question["d_model"],
        n_layer=question["layers"], n_head=question["heads"],
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=None, eos_token_id=None, use_cache=False,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    optimizer = optimizer_of(model, question["fused"])
    model.train()
    begun = time.perf_counter()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps)
        starts = torch.randint(len(learned) - width, (rows,))
        batch = torch.stack([learned[i : i + width] for i in starts])
        truth = torch.stack([learned[i + 1 : i + 1 + width] for i in starts])
        with torch.autocast("cpu", torch.bfloat16, enabled=question["autocast"]):
            logits = model(batch).logits
            loss = F.cross_entropy(logits.flatten(0, 1), truth.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
    seconds = time.perf_counter() - begun
    parameters = sum(w.numel() for w in model.parameters())
    return {
        "seconds": seconds,
        "tokens": steps * rows * width,
        "loss": held_out_loss(model, held_out, width),
        "parameters": parameters,
        "layout": f"{'autocast bf16' if question['autocast'] else 'fp32'}, "
        f"{torch.get_num_threads()} threads",
    }


if __name__ == "__main__":
    asked, answer = map(Path, sys.argv[1:3])
    answer.write_text(json.dumps(main(json.loads(asked.read_text()))), encoding="utf-8")
