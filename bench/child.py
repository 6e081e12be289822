"""A measurement in a process of its own: what it is asked for and what it found travel as JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PEERS = Path(__file__).parent / "peers"
sys.path.insert(0, str(PEERS))  # the forms of question and answer lie beside the scripts

# Threads are the contender's own choice, not that of the shell that started us.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in THREAD_VARIABLES} | {
    "TOKENIZERS_PARALLELISM": "true",
    "HF_HUB_OFFLINE": "1",
}


def ask(script: str, question: dict[str, Any], python: str = sys.executable) -> dict[str, Any]:
    """The answer of a script of peers/; only `failure`, its last words, where it ended badly.

    `python`: that of a peer which is installed elsewhere.
    """
    with TemporaryDirectory() as folder:
        asked, answer = Path(folder) / "question.json", Path(folder) / "answer.json"
        asked.write_text(json.dumps(question), encoding="utf-8")
        command = [python, str(PEERS / script), str(asked), str(answer)]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
        if done.returncode:
            return {"failure": last_line(done.stderr)}
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found


def last_line(text: str) -> str:
    """The last line that says something: of an error, its message."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no word")
