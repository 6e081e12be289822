"""Words of an encyclopedia: a decoder beside a smoothed trigram of irstlm, on the same words.

    apt install irstlm
    python bench/trigram.py runs/wikitext2
    make bench-wikitext2                        trains the run first, half an hour

Word perplexity e^(-mean log p(word | all before it)) on the test part of WikiText-2, words being
what white space parts. Words that the training part has not are counted apart: a trigram has one
probability for all of them, while a decoder spells each. The trigram is smoothed by irstlm's
modified shift-beta (its improved Kneser-Ney). The decoder reads windows of its own length that
overlap by half; line ends, of which the trigram knows nothing, count against the decoder.
"""

import argparse
import gzip
import json
import math
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

from needs import folder_of_set, insist_on_libraries, say, stop, stop_without

WIKITEXT = folder_of_set("wikitext2")
ROWS = 16  # windows at a time


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="a decoder")
    parser.add_argument("--train", type=Path, default=WIKITEXT / "train.raw.gz")
    parser.add_argument("--test", type=Path, default=WIKITEXT / "test.raw.gz")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def read(path: Path) -> str:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return str(file.read())


class Backoff:
    """A trigram in the ARPA format: log10 p of a word after two, with less where it must."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.grams: dict[tuple[str, ...], tuple[float, float]] = {}
        for line in lines:
            parts = line.rstrip("\n").split("\t")
            if len(parts) >= 2 and re.fullmatch(r"-?[\d.e+-]+", parts[0]):
                weight = float(parts[2]) if len(parts) > 2 else 0.0
                self.grams[tuple(parts[1].split(" "))] = float(parts[0]), weight

    def log10(self, words: Sequence[str]) -> float:
        """log p of the last one after the others."""
        words, lost = tuple(words), 0.0
        while words not in self.grams:
            if len(words) == 1:
                return lost + self.grams[("<unk>",)][0]
            lost += self.grams.get(words[:-1], (0.0, 0.0))[1]
            words = words[1:]
        return lost + self.grams[words][0]


def trigram(train: str, test: str) -> tuple[list[float], float]:
    """-log p of each test word in nats by our reading of irstlm's file, and its own perplexity."""
    with TemporaryDirectory(prefix="bench-trigram-") as folder:
        names = {"train": train, "test": test}
        for name, text in names.items():
            lines = [" ".join(line.split()) for line in text.splitlines() if line.split()]
            (Path(folder) / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = ["irstlm", "tlm", "-tr=train", "-n=3", "-lm=msb", "-te=test", "-oarpa=lm.arpa"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        printed = re.search(r"PP=([\d.]+)", done.stdout + done.stderr)
        if printed is None:
            stop(f"irstlm: {(done.stdout + done.stderr)[-300:]}")
        with (Path(folder) / "lm.arpa").open(encoding="utf-8") as file:
            model = Backoff(file)
    words = test.split()
    known = {gram[0] for gram in model.grams if len(gram) == 1}
    named = [word if word in known else "<unk>" for word in words]
    nats = [-model.log10(named[max(0, i - 2) : i + 1]) * math.log(10) for i in range(len(named))]
    return nats, float(printed[1])


def encoded(tokenizer: Any, text: str) -> tuple[list[int], list[int]]:
    """Ids of a text, and with which of them each word begins; line by line: no tokenizer takes all.

    Byte-level pieces do not reach over a line's end, so these are the ids of the whole.
    """
    ids: list[int] = []
    places: list[int] = []
    for line in text.splitlines(keepends=True):
        spans = [match.span() for match in re.finditer(r"\S+", line)]
        pieces, begins = tokenizer.encode_places(line, spans)
        places += [len(ids) + place for place in begins]
        ids += pieces.ids
    return ids, places


def decoder(run: Path, test: str) -> list[float]:
    """-log p of each word in nats: of its pieces and of what stands before the next one."""
    import torch

    import regard

    model = regard.load(run)
    tokenizer = model.tokenizer_for("complete")
    all_ids, places = encoded(tokenizer, test)
    ids = torch.tensor(all_ids)
    length = min(x for x in (model.bundle.longest_text, model.spec.position_limit, 1024) if x)
    nats = torch.zeros(len(ids), dtype=torch.float64)
    half = length // 2
    starts = range(0, max(1, len(ids) - half), half)
    with torch.inference_mode():
        for first in range(0, len(starts), ROWS):
            for begin in starts[first : first + ROWS]:
                row = ids[begin : begin + length]
                log_p = torch.log_softmax(model.logits(row[None])[0].double(), -1)
                own = -log_p[:-1].gather(1, row[1:, None])[:, 0]
                new = 0 if begin == 0 else half - 1
                nats[begin + 1 + new : begin + len(row)] = own[new:]
    cuts = [*(place for place in places), len(ids)]
    return [float(nats[a:b].sum()) for a, b in zip(cuts, cuts[1:], strict=False)]


def summed(nats: Sequence[float], seen: Sequence[bool]) -> dict[str, float]:
    """Perplexity of the words that training has, nats of the others, bits of a word of all."""
    known = [x for x, is_seen in zip(nats, seen, strict=True) if is_seen]
    others = [x for x, is_seen in zip(nats, seen, strict=True) if not is_seen]
    return {
        "perplexity": math.exp(sum(known) / len(known)),
        "unseen nats": sum(others) / max(1, len(others)),
        "all": math.exp(sum(nats) / len(nats)),
    }


def main() -> None:
    asked = arguments()
    insist_on_libraries(("torch",))
    if which("irstlm") is None:
        stop("irstlm: not installed; `apt install irstlm` brings it on Debian and Ubuntu")
    for file in (asked.train, asked.test):
        stop_without(file, "wikitext2", "--train and --test")
    train, test = read(asked.train), read(asked.test)
    vocabulary = Counter(train.split())
    seen = [word in vocabulary for word in test.split()]
    say("the trigram …")
    nats, own = trigram(train, test)
    found = {"irstlm, trigram": summed(nats, seen)}
    say("the decoder …")
    found[f"regard, {asked.run.name}"] = summed(decoder(asked.run, test), seen)
    share = 1 - sum(seen) / len(seen)
    if asked.json:
        print(json.dumps({"words": len(seen), "unseen": share, "irstlm": own, **found}))
        return
    print(f"{len(seen):,} words, {share:.2%} of them not in training")
    print(f"{'':28}{'perplexity':>12}{'nats of an unseen word':>26}{'of all words':>14}")
    for name, row in found.items():
        print(f"{name:28}{row['perplexity']:12.1f}{row['unseen nats']:26.2f}{row['all']:14.1f}")
    print(f"(irstlm itself says {own:.1f} for all words: it divides p(unseen) among ten million)")


if __name__ == "__main__":
    main()
