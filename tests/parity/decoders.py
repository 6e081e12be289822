"""What the tests of decoder-only families share: padding on both sides, and greedy search."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import parity.twins as twins
import regard.checkpoint.published as published
from regard.checkpoint.families.family import Family
from regard.errors import CheckpointError
from regard.model.trace import Trace
from regard.model.transformer import Transformer

LENGTHS = (7, 4, 1)


def left_padded(vocabulary: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random ids with the padding first, the mask of the real ones, and their positions."""
    ids, real = twins.ids_and_mask(vocabulary, LENGTHS)
    real = real.flip(1)
    # Padding gets a position too, one that a mistake would show.
    positions = (real.cumsum(1) - 1).masked_fill(~real, 3)
    return ids, real, positions


def with_gaps(ids: Tensor) -> Tensor:
    """Positions 0, 2, 4, 6, 9, …: rotary ones only see distances, so a mere shift tests nothing."""
    counted = torch.arange(ids.shape[1]).expand_as(ids)
    return 2 * counted + (counted > 3).long()


def check_logits_and_layers(theirs: nn.Module, ours: Transformer, vocabulary: int) -> None:
    """Right padding and left padding, explicit and fused: every layer and the logits."""
    ids, real = twins.ids_and_mask(vocabulary, LENGTHS)
    counted = torch.arange(ids.shape[1]).expand_as(ids)
    cases = {
        "right": (ids, real, counted),
        "left": left_padded(vocabulary),
        "gaps": (ids, real, with_gaps(ids)),
    }
    for ids, real, positions in cases.values():
        with torch.no_grad():
            expected = theirs(
                ids, attention_mask=real.long(), position_ids=positions, output_hidden_states=True
            )
            trace = Trace()
            x = ours.decode(ids, trace=trace, real=real, positions=positions)
            fused = ours.decode(ids, real=real, positions=positions)
            logits = ours.token_logits(x)
        assert twins.closest(x, fused, real) < 1e-5
        assert twins.closest(logits, expected.logits, real) < 1e-5
        before, *hidden = expected.hidden_states
        assert len(hidden) == ours.spec.decoder_layers >= 2
        assert twins.closest(trace["target.sum"], before, real) < 1e-5
        for n, layer in enumerate(hidden[:-1]):
            assert twins.closest(trace[f"decoder.{n}.ffn.norm"], layer, real) < 1e-5
        assert twins.closest(trace["decoder.output"], hidden[-1], real) < 1e-5
    # The look-ahead mask alone hides padding at the end, and positions count from 0.
    ids, real, _ = cases["right"]
    with torch.no_grad():
        alone = ours.token_logits(ours.decode(ids))
        assert twins.closest(alone, theirs(ids).logits) < 1e-5


def check_cache(ours: Transformer, vocabulary: int) -> None:
    """Decoding in pieces with a cache gives what decoding at once gives, padded left or not."""
    ids, real, positions = left_padded(vocabulary)
    with torch.no_grad():
        for mask, places in ((None, None), (real, positions), (None, with_gaps(ids))):
            full = ours.decode(ids, real=mask, positions=places)
            for sizes in ((1,) * 7, (4, 1, 2), (3, 4)):
                cache, parts, start = ours.new_cache(), [], 0
                for size in sizes:
                    end = start + size
                    seen = None if mask is None else mask[:, :end]
                    here = None if places is None else places[:, start:end]
                    parts.append(
                        ours.decode(ids[:, start:end], cache=cache, real=seen, positions=here)
                    )
                    start = end
                assert twins.closest(torch.cat(parts, dim=1), full, mask) < 1e-5


def greedy(ours: Transformer, ids: Tensor, real: Tensor, steps: int) -> Tensor:
    """The prompt and `steps` tokens more, each the most likely one; padding stands on the left."""
    cache, new, out = ours.new_cache(), ids, ids
    positions = (real.cumsum(1) - 1).clamp(min=0)
    with torch.inference_mode():
        for _ in range(steps):
            x = ours.decode(new, cache=cache, real=real, positions=positions[:, -new.shape[1] :])
            new = ours.token_logits(x[:, -1:]).argmax(dim=-1)
            out = torch.cat((out, new), dim=1)
            real = torch.cat((real, torch.ones_like(new, dtype=torch.bool)), dim=1)
            positions = torch.cat((positions, positions[:, -1:] + 1), dim=1)
    return out


def lively(theirs: nn.Module) -> None:
    """Let layers outweigh embedding and biases: a random twin would repeat one token for ever."""
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if parameter.dim() == 2 and re.search(r"\.\d+\.", name):
                parameter.mul_(4)
            elif name.endswith("bias"):
                parameter.mul_(0.1)


def check_generation(theirs: nn.Module, folder: Path, vocabulary: int) -> None:
    """The same tokens as the other library's `generate`, one prompt alone and a batch of three."""
    ids, real, _ = left_padded(vocabulary)

    def said(rows: slice) -> Tensor:
        tokens: Tensor = theirs.generate(  # type: ignore[operator]
            ids[rows],
            attention_mask=real[rows].long(),
            max_new_tokens=12,
            do_sample=False,
            pad_token_id=0,
        )
        return tokens

    for seed in range(20):  # a twin that repeats itself hides much
        twins.redraw(theirs, seed)
        lively(theirs)
        expected = said(slice(0, 3))
        if min(len(set(row[ids.shape[1] :])) for row in expected.tolist()) >= 5:
            break
    else:
        raise AssertionError("no drawing says five different tokens after every prompt")
    theirs.save_pretrained(folder)  # type: ignore[operator]
    ours = published.load_published(folder)
    assert expected.shape[1] == ids.shape[1] + 12, "no end token must stop the twin"
    assert torch.equal(greedy(ours, ids, real, 12), expected)
    assert torch.equal(greedy(ours, ids[:1], real[:1], 12), said(slice(0, 1)))


def check_same_weights(one: nn.Module, other: nn.Module) -> None:
    """All parameters, bit for bit."""
    first, second = dict(one.named_parameters()), dict(other.named_parameters())
    assert first.keys() == second.keys()
    for name, parameter in first.items():
        assert torch.equal(parameter, second[name]), name


def check_every_row_counts(family: Family, folder: Path, patch: Callable[..., None]) -> None:
    """A table that lacks any one of its rows is refused, and the refusal names what lacks."""
    rows = list(family.rows(published.load_published(folder).spec))
    assert len(rows) > 10
    for dropped in rows:
        kept = [row for row in rows if row is not dropped]
        patch(published.FAMILIES, family.name, replace(family, rows=lambda _, kept=kept: kept))
        with pytest.raises(CheckpointError) as refusal:
            published.load_published(folder)
        assert any(f"{name!r}" in str(refusal.value) for name in (dropped.theirs, *dropped.names))


def check_every_tensor_counts(family: Family, folder: Path) -> None:
    """A file that lacks any one tensor of the table, or has one more, is refused by its name."""
    path = folder / "model.safetensors"
    whole = load_file(path)
    assert len(whole) == len(list(family.rows(published.load_published(folder).spec)))
    for name in whole:
        save_file({key: value for key, value in whole.items() if key != name}, path)
        with pytest.raises(CheckpointError, match=re.escape(name.removeprefix(family.prefix))):
            published.load_published(folder)
        save_file({**whole, f"{name}_too": torch.zeros(2)}, path)
        with pytest.raises(
            CheckpointError, match=re.escape(f"{name}_too".removeprefix(family.prefix))
        ):
            published.load_published(folder)
