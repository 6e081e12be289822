"""A decoder like Llama → one GGUF file with its tokenizer.

What was written is read again before it gets its name, and must answer as its source does with
weights of the same precision: names, the order of rows, sizes and positions are right then. What
the precision itself costs is told, not refused.
"""

import tempfile
from pathlib import Path
from typing import Any

from regard import atomic
from regard.bundle.engine_choice import SENTENCES
from regard.checkpoint.gguf import load_gguf
from regard.checkpoint.to_gguf import like_llama, rounded, write_gguf
from regard.convert.golden import Golden, golden_of
from regard.convert.source import Source
from regard.convert.verify import compare, write_golden
from regard.errors import CheckpointError, DataError, MisuseError
from regard.text.published import PublishedTokenizer
from regard.text.published_gguf import PREFIX
from regard.text.to_gguf import gguf_tables

SUFFIX = ".gguf"


def write_file(source: Source, out: Path, precision: str) -> tuple[Path, Golden, Golden]:
    """Write the file, and its golden outputs beside it: theirs, and those of the source.

    Whole, or not at all.
    """
    if out.suffix != SUFFIX:
        raise MisuseError(out, "the name of a GGUF file", expected=f"one that ends with {SUFFIX}")
    like_llama(source.model.spec)  # said before anything is computed
    keys = tokenizer_keys(source)
    exact, expected = golden_of(source.model), golden_of(rounded(source.model, precision))
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=atomic.PREFIX, dir=out.parent) as folder:
        made = Path(folder) / out.name
        with atomic.named_when_full(out, made):
            write_gguf(source.model, made, precision, keys, source.bundle.path.stem)
        got = golden_of(load_gguf(made))
        differences = compare(expected | {"weights": got["weights"]}, got)
        if differences:
            problem = f"the written model answers differently ({differences[0]})"
            advice = "nothing was written. Please report this"
            raise CheckpointError(source.path, problem, advice=advice)
        atomic.sync_file(made)
        atomic.rename(made, out)
    atomic.sync_folder(out.parent)
    golden = out.with_name(f"{out.name}.golden.json")
    write_golden(golden, got)
    return golden, got, exact


def tokenizer_keys(source: Source) -> dict[str, Any]:
    """The keys of its tokenizer; those of a GGUF file stay as they are."""
    bundle = source.bundle
    if bundle.kind == "gguf" and bundle.tokenizer is not None:
        return {k: v for k, v in bundle.gguf.header.values.items() if k.startswith(PREFIX)}
    if not isinstance(bundle.tokenizer, PublishedTokenizer):
        advice = "`regard convert --to hf` with --tokenizer makes a folder that has one"
        raise DataError(source.path, "has no tokenizer, which a GGUF file holds", advice=advice)
    keys = gguf_tables(bundle.tokenizer, source.path, SENTENCES)
    ends = bundle.settings.ends
    if ends:
        keys[f"{PREFIX}eos_token_id"] = ends[0]
    if len(ends) > 1:
        keys[f"{PREFIX}eot_token_id"] = ends[1]
    return keys
