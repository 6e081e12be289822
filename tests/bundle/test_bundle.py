"""What a run says of itself: how it decodes, whatever else stands in its recipe."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from regard.bundle.bundle import open_bundle
from regard.checksums import NAME as CHECKSUMS
from regard.checksums import OWN
from regard.decode.options import DecodingOptions
from regard.errors import ConfigError


def with_recipe(run: Path, place: Path, changes: Mapping[str, Any]) -> Path:
    """A copy of the run, its recipe changed on purpose: without checksums."""
    copy = Path(shutil.copytree(run, place))
    (copy / CHECKSUMS).unlink()
    tables = json.loads((copy / "recipe.json").read_text())
    del tables[OWN]
    (copy / "recipe.json").write_text(json.dumps({**tables, **changes}))
    return copy


def test_a_run_decodes_by_its_recipe_however_it_was_trained(toy_run: Path, tmp_path: Path) -> None:
    decode = {"beam": 3, "alpha": 0.2}
    later = {"train": {"a_key_of_a_later_version": 1}, "decode": decode}
    settings = open_bundle(with_recipe(toy_run, tmp_path / "run", later)).settings
    assert settings.search == DecodingOptions(beam=3, alpha=0.2)


@pytest.mark.parametrize("decode", [{"beem": 3}, {"beam": "3"}, {"beam": 0}, 3, []])
def test_decoding_options_that_are_none_are_refused(
    decode: Any, toy_run: Path, tmp_path: Path
) -> None:
    bundle = open_bundle(with_recipe(toy_run, tmp_path / "run", {"decode": decode}))
    with pytest.raises(ConfigError, match=r"recipe.json: \[decode\]: "):
        _ = bundle.settings
