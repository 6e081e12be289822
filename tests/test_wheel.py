"""The package that an index would offer: complete, and it runs where nothing else of us is."""

import re
import runpy
import tarfile
import zipfile
from email import message_from_string
from email.message import Message
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import regard
from installed import HOME, Installed, installed


@pytest.fixture(scope="module")
def package(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return installed(repository, tmp_path_factory)


@pytest.fixture(scope="module")
def metadata(package: Installed) -> Message:
    with zipfile.ZipFile(package.wheel) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_string(wheel.read(name).decode())


@pytest.mark.end_to_end
def test_all_that_lies_in_the_package_is_in_the_wheel(repository: Path, package: Installed) -> None:
    source = repository / "src"
    files = [p for p in (source / "regard").rglob("*") if p.is_file() and p.suffix != ".pyc"]
    with zipfile.ZipFile(package.wheel) as wheel:
        packed = set(wheel.namelist())
    assert {path.relative_to(source).as_posix() for path in files} <= packed
    assert not [name for name in packed if name.startswith(("tests/", "bench/"))]
    with tarfile.open(package.source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"setup.py", "CITATION.cff", "Makefile", "tests/conftest.py", "docs/index.md"} <= names


@pytest.mark.end_to_end
def test_the_metadata_is_that_of_a_release(metadata: Message) -> None:
    assert metadata["Version"] == regard.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert len(metadata.get_all("Classifier", [])) > 10 and metadata["Keywords"]
    assert f"Homepage, {HOME}" in metadata.get_all("Project-URL", [])
    assert metadata["Description-Content-Type"] == "text/markdown"


@pytest.mark.end_to_end
def test_links_on_the_page_of_an_index_lead_somewhere(metadata: Message) -> None:
    page = str(metadata.get_payload())
    links = re.findall(r"\]\(([^)\s]+)\)|src(?:set)?=\"([^\"]+)\"", page)
    links = [link or picture for link, picture in links]
    assert f"{HOME}/blob/main/CONTRIBUTING.md" in links
    assert not [link for link in links if not link.startswith(("https://", "#"))]


@pytest.mark.end_to_end
def test_what_the_wheel_asks_for_is_what_the_tests_run_with(metadata: Message) -> None:
    asked = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    needed = [one for one in asked if one.marker is None or "extra" not in str(one.marker)]
    assert "torch" in {one.name for one in needed}
    assert not [one for one in needed if not one.specifier.contains(version(one.name))]


@pytest.mark.end_to_end
def test_the_environment_runs_the_wheels_own_regard(package: Installed, tmp_path: Path) -> None:
    code = "import regard, importlib.metadata as m; print(regard.__file__, m.version('regard'))"
    done = package.run(f'python -c "{code}"', tmp_path)
    file, number = done.stdout.split()
    assert Path(file).is_relative_to(package.venv) and number == regard.__version__


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("regard --version", regard.__version__),
        ("regard walk --matrices the-cat-sat", "Softmax"),
        ('regard translate demo-de "How are you?"', "Wie geht es"),
    ],
)
def test_a_first_command_in_an_empty_folder(
    package: Installed, tmp_path: Path, command: str, shown: str
) -> None:
    done = package.run(command, tmp_path)
    assert done.returncode == 0 and shown in done.stdout, done.stdout


@pytest.mark.end_to_end
def test_a_short_demo_goes_the_whole_way_and_names_commands_that_work(
    package: Installed, tmp_path: Path
) -> None:
    (tmp_path / "runs/demo").mkdir(parents=True)  # taken
    done = package.run("regard demo --steps 20", tmp_path)
    assert done.returncode == 0, done.stdout
    assert "runs/demo is there already and stays as it is; this demo goes to runs/demo-2" in (
        done.stdout
    )
    assert not any((tmp_path / "runs/demo").iterdir())
    for file in ("model.safetensors", "attention.svg"):
        assert (tmp_path / "runs/demo-2" / file).is_file()
    following = done.stdout[done.stdout.index("\nNext:") :]
    commands = re.findall(r"^  (regard .+)$", following, re.MULTILINE)
    assert len(commands) == 3
    pasted = package.run(" && ".join(commands), tmp_path)
    assert pasted.returncode == 0, pasted.stdout


def test_without_a_home_nothing_is_changed_and_no_address_is_named(repository: Path) -> None:
    made = runpy.run_path(str(repository / "setup.py"))
    told = made["metadata"]("")
    assert told["project_urls"] == {}
    assert told["long_description"] == (repository / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[page](docs/a.md)", f"[page]({HOME}/blob/main/docs/a.md)"),
        ("[part](docs/a.md#b)", f"[part]({HOME}/blob/main/docs/a.md#b)"),
        ("![picture](docs/a.svg)", f"![picture]({HOME}/raw/main/docs/a.svg)"),
        (
            "[![picture](a.svg)](b.md)",
            f"[![picture]({HOME}/raw/main/a.svg)]({HOME}/blob/main/b.md)",
        ),
        ('<img alt="x" src="a.svg">', f'<img alt="x" src="{HOME}/raw/main/a.svg">'),
        ('<source srcset="a.svg">', f'<source srcset="{HOME}/raw/main/a.svg">'),
        ("[here](#install)", "[here](#install)"),
        ("[there](https://arxiv.org/abs/1706.03762)", "[there](https://arxiv.org/abs/1706.03762)"),
        ("`code[0](1)`, [a](b)", f"`code[0](1)`, [a]({HOME}/blob/main/b)"),
        ("```python\ncode[0](1)\n```\n", "```python\ncode[0](1)\n```\n"),
    ],
)
def test_links_become_absolute(repository: Path, text: str, expected: str) -> None:
    assert runpy.run_path(str(repository / "setup.py"))["absolute_links"](text, HOME) == expected


def test_the_citation_names_this_version(repository: Path) -> None:
    cited = yaml.safe_load((repository / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == regard.__version__ and cited["license"] == "Apache-2.0"
    assert cited["authors"] == [{"name": "The regard authors"}]


def test_other_systems_are_tested_by_makes_targets(repository: Path) -> None:
    workflow = yaml.safe_load((repository / ".github/workflows/test.yml").read_text())
    job = workflow["jobs"]["test"]
    matrix = job["strategy"]["matrix"]
    assert [name.partition("-")[0] for name in matrix["system"]] == ["ubuntu", "macos", "windows"]
    assert matrix["python"] == ["3.11", "3.13"]
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    targets = [step["run"].split()[:2] for step in job["steps"] if "run" in step]
    assert targets
    for program, target in targets:
        assert program == "make" and re.search(rf"^{target}:", makefile, re.MULTILINE)
