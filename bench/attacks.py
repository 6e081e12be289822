"""Everything that is tried to lose work or to get a wrong answer, counted.

    python bench/attacks.py
    python bench/attacks.py --kills 12 --races 4 --damages 30 --json attacks.json

kills     SIGKILL at moments of a tiny training, spread over its preparation, steps, validations,
          checkpoints, the averaging and the choice of its final weights; then `--resume`
races     two trainings into one new folder, the second a little later than the first
damages   a byte flipped, a part cut off or overwritten, in every file of a run, of its engines, of
          an index, of a converted model, of a model of the box; then a command that rests on it

survived  the same bits, or the same answer and a line that says what was made again
noticed   an error of one sentence that names what is damaged, or refuses the second training
wrong     other bits, another answer, NaN, a traceback, or damage that nobody mentions

Exit code 1 if anything is wrong.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: a fork inherits no threads


def use_own_cache(folder: Path) -> None:
    """What is damaged in it is not the user's; it knows what the user's knows of the processor."""
    from regard.places import cache_folder

    folder.mkdir()
    for known in cache_folder().glob("processor-*.json"):
        shutil.copy(known, folder)
    os.environ["REGARD_CACHE"] = str(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--races", type=int, default=20)
    parser.add_argument("--damages", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where everything lies meanwhile")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="attacks-", dir=given.folder))
    use_own_cache(place / "cache")
    from attacking.counted import Tally
    from attacking.damages import damages
    from attacking.forked import get_ready
    from attacking.kills import kills
    from attacking.races import races
    from attacking.tiny import Tiny
    from needs import say
    from printed import machine, show_machine, wide_console

    tally = Tally()
    try:
        say("getting ready …")
        get_ready()
        tiny = Tiny(place)
        for name, attack, count in (
            ("kills", kills, given.kills),
            ("races", races, given.races),
            ("damages", damages, given.damages),
        ):
            if count:
                say(f"{count} {name} …")
                attack(tiny, count, given.seed, tally)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    console = wide_console()
    versions = machine(["torch", "ctranslate2"])
    show_machine(console, versions)
    console.print(tally.table())
    for line in tally.wrong:
        console.print(f"wrong: {line}", highlight=False, markup=False)
    if given.json:
        content = {"machine": versions, "rows": tally.rows(), "wrong": tally.wrong}
        given.json.write_text(json.dumps(content, indent=1) + "\n")
    sys.exit(1 if tally.wrong else 0)


if __name__ == "__main__":
    main()
