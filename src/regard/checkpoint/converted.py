"""A converted folder: a published one, its weights under our names and its spec written out.

    regard.json           format, family, version of regard, SHA-256 of the weights
    spec.json             the model's spec, every key
    weights.safetensors   the weights under our names, so no table is needed to read them
    config.json           as published: labels, special ids, settings of generation
    tokenizer files       as published
    checksums.json        of all files but the weights

The weights are not called model.safetensors: another library that opens the folder by its
config.json finds no weights and says so, instead of drawing them at random.
"""

from pathlib import Path

from regard import atomic
from regard.checkpoint.guard import (
    check_size,
    compare,
    load_into,
    read_header,
    read_tensors,
    weights_of,
)
from regard.checkpoint.training_state import save_weights
from regard.checksums import add_checksums, check, is_whole, note_once, read_checksums, sha256
from regard.config import build, to_tables
from regard.errors import CheckpointError, ConfigError, DamageError, shown
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.untrusted import member, read_json

INFO, SPEC, WEIGHTS = "regard.json", "spec.json", "weights.safetensors"
FORMAT = 1
MAX_JSON = 64 * 1024


def save_converted(model: Transformer, family: str, folder: Path, version: str) -> None:
    """Write spec, weights and what they are; the folder exists."""
    save_weights(folder / WEIGHTS, dict(model.named_parameters()))
    atomic.write_json(folder / SPEC, to_tables(model.spec))
    info = {"format": FORMAT, "family": family, "regard": version}
    atomic.write_json(folder / INFO, info | {"sha256": sha256(folder / WEIGHTS)})
    add_checksums(folder, [SPEC, INFO])


def load_converted(folder: Path) -> Transformer:
    """The model of a converted folder; the weights must have their checksum.

    A stranger may have written it, so nothing is allocated before the files agree.
    """
    spec, stated = check_converted(folder)
    path = member(folder, WEIGHTS)
    if not is_whole(path, str(stated)):
        raise DamageError(path, "differs from its checksum", advice="copy the folder again")
    if read_checksums(folder) is None:
        note_once(
            folder,
            f"{folder} was converted before regard kept checksums, so damage to its small files "
            "may go unnoticed; `regard convert` makes a folder that has them.",
        )
    model = Transformer(spec, seed=None)
    load_into(model, read_tensors(path, dict(model.named_parameters())))
    return model.eval()


def check_converted(folder: Path) -> tuple[Spec, object]:
    """Everything that can be checked before a number is read: the spec, the checksum as stated."""
    check(folder)
    info = read_json(member(folder, INFO), MAX_JSON)
    if info.get("format") != FORMAT:
        problem = f"format {shown(info.get('format'))}, this regard reads {FORMAT}"
        raise CheckpointError(folder / INFO, problem, advice="convert the model again")
    path = member(folder, WEIGHTS)
    header = read_header(path)
    try:
        spec = build(Spec, read_json(member(folder, SPEC), MAX_JSON), str(folder / SPEC))
    except ConfigError as error:
        raise CheckpointError(str(error)) from None
    check_size(folder / SPEC, spec, sum(tensor.count for tensor in header.values()))
    compare(path, header, weights_of(spec))
    return spec, info.get("sha256")
