"""`make models`: train the models that travel inside the package, measure them, pack them.

    python tools/make_models.py                   trains both from their recipes, into runs/box
    python tools/make_models.py --from FOLDER     packs runs that are there: FOLDER/demo-de …

The scores on a card are those of the packed weights (bf16), measured after packing, with torch and
the settings of the recipe; tests/bundle/test_box.py measures them again.
"""

import argparse
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from regard.api.load import load
from regard.bundle.box import BOX, CARD, Boxed, models_in_the_box, pack
from regard.checkpoint.files import read_own_json
from regard.data.phrasebook.corpus import phrasebook
from regard.evaluate.translations import (
    pairs_to_score,
    score,
    score_notes,
    score_slices,
    translate_all,
)
from regard.fit.train import Request, train
from regard.runs.folder import write_own_json

# model → recipe, language of the phrasebook, the languages in words
MODELS = {
    "demo-de": ("demo", "de", "English → German"),
    "demo-hi": ("demo-hi", "hi", "English → Hindi"),
}


def card(name: str, run: Path) -> dict[str, Any]:
    """What is known before the scores."""
    recipe, language, languages = MODELS[name]
    info, stated = read_own_json(run / "run.json"), read_own_json(run / "model.json")
    pairs = [entry for entry in phrasebook(language) if entry.split == "train"]
    return {
        "name": name,
        "languages": languages,
        "what": "A small Transformer that knows the words of regard's phrasebook and no others: "
        "to try things out and to look inside, not for text of one's own.",
        "data": f"phrasebook {language}: {len(pairs):,} pairs made by a grammar; the notes' "
        "sentences are among them, eight times an epoch",
        "recipe": recipe,
        "steps": info["step"],
        "weights": f"{stated['from']}, rounded to bf16",
        "trained": f"{date.today()}, {info['bits']['cpu']}, torch {info['bits']['torch']}",
        "licence": "Apache-2.0; weights and data are regard's own",
    }


def scores(run: Path) -> dict[str, Any]:
    """BLEU, chrF, slices and notes of a run folder, by torch."""
    model = load(run, "cpu", engine="torch")
    pairs = pairs_to_score(model.bundle.run, None, None, slices=True)
    outputs = translate_all(model, pairs.sources, model.bundle.settings.search)
    total = score(outputs, pairs.references)
    notes, slips = score_notes(model, model.bundle.settings.search)
    return {
        "set": pairs.name,
        "sentences": total.sentences,
        "beam": model.bundle.settings.search.beam,
        "bleu": round(total.bleu, 2),
        "chrf": round(total.chrf, 2),
        "exact": round(total.exact, 2),
        "bleu_signature": total.bleu_signature,
        "notes": f"{notes[0].sentences - len(slips)} of {notes[0].sentences}",
        "slices": {
            row.name: {k: round(v, 1) for k, v in asdict(row).items() if isinstance(v, float)}
            for row in score_slices(pairs.entries, outputs)
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--from", dest="runs", type=Path, help="runs that are there already")
    parser.add_argument("names", nargs="*", help=f"default: {', '.join(MODELS)}")
    options = parser.parse_args()
    for name in options.names or MODELS:
        run = (options.runs or Path("runs/box")) / name
        if not options.runs:
            train(Request(recipe=Path(MODELS[name][0]), folder=run), print)
        values = card(name, run)
        pack(run, BOX / name, values)
        models_in_the_box.cache_clear()
        packed = Boxed(name, BOX / name)
        write_own_json(BOX / name / CARD, {**values, "scores": scores(packed.unpacked())})
        size = sum(file.stat().st_size for file in packed.folder.iterdir())
        print(f"{name}: {size / 1e6:.2f} MB, {read_own_json(BOX / name / CARD)['scores']}")


if __name__ == "__main__":
    main()
