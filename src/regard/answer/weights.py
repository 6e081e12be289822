"""A bundle → its model, with the weights that are to be used."""

import sys
from collections.abc import Mapping

from torch import Tensor

from regard.bundle.bundle import Bundle, best_step
from regard.checkpoint.converted import load_converted
from regard.checkpoint.files import read_own_json, steps_saved
from regard.checkpoint.gguf import load_gguf
from regard.checkpoint.guard import load_into, read_tensors
from regard.checkpoint.llama2c import load_llama2c
from regard.checkpoint.published import load_published
from regard.checkpoint.training_state import load_weights
from regard.checksums import sha256
from regard.errors import CheckpointError, DamageError
from regard.model.transformer import Transformer
from regard.runs.folder import RunFolder, typed


def read_transformer(bundle: Bundle, *, allow_nonfinite: bool = False) -> Transformer:
    """The model on the CPU, in single precision; of a run its final weights, or the best so far.

    `allow_nonfinite`: a published one may have weights that are NaN or infinite.
    """
    if bundle.kind == "llama2.c":
        return load_llama2c(bundle.path)
    if bundle.kind == "gguf":
        return load_gguf(bundle.path, allow_nonfinite=allow_nonfinite)
    if bundle.kind == "converted":
        return load_converted(bundle.path)
    if bundle.kind == "published":
        return load_published(
            bundle.path,
            allow_pickle=bundle.allow_pickle,
            allow_nonfinite=allow_nonfinite,
            strict=bundle.strict,
        )
    transformer = Transformer(bundle.spec, seed=None)
    load_into(transformer, _of_run(bundle.run, transformer))
    return transformer.eval()


def _of_run(run: RunFolder, transformer: Transformer) -> dict[str, Tensor]:
    expected = dict(transformer.named_parameters())
    step = best_step(run)
    if step is not None:
        return _of_checkpoint(run, step, expected)
    return _final(run, expected)


def _final(run: RunFolder, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    if sha256(run.weights) != read_own_json(run.weights_info).get("sha256"):
        again = (
            f"`regard train --resume {typed(run.folder)}` makes it again from the checkpoints, or "
            if steps_saved(run.checkpoints)
            else ""
        )
        advice = f"{again}copy the run again"
        raise CheckpointError(run.weights, "differs from its checksum", advice=advice)
    return read_tensors(run.weights, expected)


def _of_checkpoint(run: RunFolder, step: int, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A checkpoint's weights; if it is damaged, those of the newest whole one, with a warning."""
    for other in [step, *sorted({*steps_saved(run.checkpoints)} - {step}, reverse=True)]:
        try:
            weights = load_weights(run.checkpoints, other, expected)
        except DamageError as error:
            print(f"Warning: {error}; this checkpoint is not used.", file=sys.stderr)
            continue
        if other != step:
            print(f"Warning: using the checkpoint of step {other:,} instead.", file=sys.stderr)
        return weights
    if run.weights.is_file() and run.weights_info.is_file():  # it had ended, and went on
        print("Warning: using the final weights of before instead.", file=sys.stderr)
        return _final(run, expected)
    raise CheckpointError(run.checkpoints, "no checkpoint is whole", advice="copy the run again")
