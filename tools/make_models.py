"""`make models`: train the models that travel inside the package, measure them, pack them.

    python tools/make_models.py                   trains the demos from their recipes, into runs/box
    python tools/make_models.py --from FOLDER     packs runs that are there: FOLDER/demo-de …
    python tools/make_models.py everyday-de       not in the box yet; wants `regard data tatoeba-de`

The scores on a card are those of the packed weights (bf16), measured after packing, with torch and
the settings of the recipe; tests/bundle/test_box.py measures them again.
"""

import argparse
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from regard.api.load import load
from regard.bundle.box import BOX, CARD, Boxed, models_in_the_box, pack
from regard.checkpoint.files import read_own_json
from regard.data.phrasebook.corpus import phrasebook
from regard.datasets.find import scored_files
from regard.evaluate.translations import (
    Scores,
    pairs_to_score,
    score,
    score_notes,
    score_slices,
    translate_all,
)
from regard.fit.train import Request, train
from regard.runs.folder import write_own_json

_DEMO = (
    "A small Transformer that knows the words of regard's phrasebook and no others: to try things "
    "out and to look inside, not for text of one's own."
)
_EVERYDAY = (
    "A small Transformer for everyday sentences. It was trained on volunteers' sentences: short, "
    "common ones come out best, long or rare ones often wrong."
)
_TATOEBA = (
    "164,798 pairs of Tatoeba (tatoeba.org), as manythings.org/anki has them, by their authors; "
    "CC BY 2.0 FR. The 1,628 pairs in texts.zip are of it too"
)


@dataclass(frozen=True)
class Row:
    """A model of the box."""

    recipe: str
    languages: str
    what: str
    licence: str
    phrasebook: str = ""  # language of the phrasebook that it learns from; or
    dataset: str = ""  # the data set on whose test part it is measured
    data: str = ""


_OWN = "Apache-2.0; weights and data are regard's own"
MODELS = {
    "demo-de": Row("demo", "English → German", _DEMO, _OWN, phrasebook="de"),
    "demo-hi": Row("demo-hi", "English → Hindi", _DEMO, _OWN, phrasebook="hi"),
    "everyday-de": Row(
        "tatoeba-en-de",
        "English → German",
        _EVERYDAY,
        "weights Apache-2.0, as regard; the sentences in texts.zip CC BY 2.0 FR, tatoeba.org",
        dataset="tatoeba-de",
        data=_TATOEBA,
    ),
}

DEMOS = [name for name, row in MODELS.items() if row.phrasebook]


def card(name: str, run: Path) -> dict[str, Any]:
    """What is known before the scores."""
    row = MODELS[name]
    info, stated = read_own_json(run / "run.json"), read_own_json(run / "model.json")
    pairs = [entry for entry in phrasebook(row.phrasebook or "de") if entry.split == "train"]
    return {
        "name": name,
        "languages": row.languages,
        "what": row.what,
        "data": row.data
        or f"phrasebook {row.phrasebook}: {len(pairs):,} pairs made by a grammar; the notes' "
        "sentences are among them, eight times an epoch",
        "recipe": row.recipe,
        "steps": info["step"],
        "weights": f"{stated['from']}, rounded to bf16",
        "trained": f"{date.today()}, {info['bits']['cpu']}, torch {info['bits']['torch']}",
        "licence": row.licence,
    }


def scores(name: str, run: Path) -> dict[str, Any]:
    """BLEU and chrF of a run folder by torch; of the phrasebook also slices and notes."""
    model, dataset = load(run, "cpu", engine="torch"), MODELS[name].dataset
    files = scored_files(dataset) if dataset else ()
    source, reference = (files[0] if files else None), (files[1] if len(files) > 1 else None)
    pairs = pairs_to_score(model.bundle.run, source, reference, slices=not dataset)
    search = model.bundle.settings.search
    outputs = translate_all(model, pairs.sources, search)
    found = {
        "set": f"the test part of {dataset}" if dataset else pairs.name,
        "beam": search.beam,
        **_rounded(score(outputs, pairs.references)),
    }
    if dataset:
        held = pairs_to_score(model.bundle.run, None, None, slices=False)
        outputs = translate_all(model, held.sources, search)
        return {**found, "validation": _rounded(score(outputs, held.references))}
    notes, slips = score_notes(model, search)
    slices = {
        row.name: {k: round(v, 1) for k, v in asdict(row).items() if isinstance(v, float)}
        for row in score_slices(pairs.entries, outputs)
    }
    right = f"{notes[0].sentences - len(slips)} of {notes[0].sentences}"
    return {**found, "notes": right, "slices": slices}


def _rounded(found: Scores) -> dict[str, Any]:
    return {
        "sentences": found.sentences,
        "bleu": round(found.bleu, 2),
        "chrf": round(found.chrf, 2),
        "exact": round(found.exact, 2),
        "bleu_signature": found.bleu_signature,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--from", dest="runs", type=Path, help="runs that are there already")
    parser.add_argument("names", nargs="*", help=f"default: {', '.join(DEMOS)}")
    options = parser.parse_args()
    for name in options.names or DEMOS:
        run = (options.runs or Path("runs/box")) / name
        if not options.runs:
            train(Request(recipe=Path(MODELS[name].recipe), folder=run), print)
        values = card(name, run)
        pack(run, BOX / name, values)
        models_in_the_box.cache_clear()
        packed = Boxed(name, BOX / name)
        found = scores(name, packed.unpacked())
        write_own_json(BOX / name / CARD, {**values, "scores": found})
        size = sum(file.stat().st_size for file in packed.folder.iterdir())
        print(f"{name}: {size / 1e6:.2f} MB, {read_own_json(BOX / name / CARD)['scores']}")


if __name__ == "__main__":
    main()
