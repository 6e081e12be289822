"""Languages: which a model translates from and into, and which a text is in.

A model's are as it is named, or as its run says. A text's are guessed by py3langid, a small table
that knows a hundred; it is told what may come in question, and short texts of languages that are
alike remain guesses.
"""

import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from regard.bundle.box import CARD
from regard.bundle.bundle import Bundle
from regard.checkpoint.files import read_own_json
from regard.data.languages import NAMES
from regard.serve.wire import WireMessage

PAIR = re.compile(r"(?:^|[-_/.])([a-z]{2,3})(?:-|_|2)([a-z]{2,3})$")
UNKNOWN = "und"  # ISO 639's own word for it
SHOWN = 3  # guesses
BEGINNING = 2000  # letters that are looked at


def language_name(code: str) -> str:
    """As people call it; a code that has no name here is its own name."""
    return NAMES.get(code, code)


def languages_of(name: str, bundle: Bundle) -> tuple[str, str]:
    """Codes of source and target; "und" where neither a name nor a file says them."""
    for text in (name, bundle.name, bundle.path.name):
        found = PAIR.search(text)
        # A name that was given may have any codes; runs/big-run is no translator from big to run.
        given = text != bundle.path.name
        if found and (given or len(found[1]) == len(found[2]) == 2):
            return found[1], found[2]
    return _of_card(bundle.path / CARD) or _of_recipe(bundle) or (UNKNOWN, UNKNOWN)


def _of_card(card: Path) -> tuple[str, str] | None:
    if not card.is_file():
        return None
    codes = {name: code for code, name in NAMES.items()}
    source, _, target = str(read_own_json(card).get("languages", "")).partition(" → ")
    return (codes[source], codes[target]) if source in codes and target in codes else None


def _of_recipe(bundle: Bundle) -> tuple[str, str] | None:
    """A run of the phrasebook translates from English; others by the ends of their files' names."""
    if not bundle.is_run:
        return None
    data: dict[str, Any] = read_own_json(bundle.run.recipe).get("data", {})
    if data.get("phrasebook"):
        return "en", str(data["phrasebook"])
    ends = [Path(str(data.get(side) or "")).suffix.strip(".") for side in ("source", "target")]
    return (ends[0], ends[1]) if all(end in NAMES for end in ends) else None


@cache
def _guesser() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def detect_language(text: str, among: Collection[str] = ()) -> list[WireMessage]:
    """The likeliest languages with percentages, best first."""
    ranked = _guesser().rank(text[:BEGINNING])
    told = [(code, float(p)) for code, p in ranked if not among or code in among]
    if not told:  # a language that the table does not know
        told = [(code, 1.0) for code in sorted(among)]
    whole = sum(p for _, p in told) or 1.0
    rows = told[:SHOWN] if any(p for _, p in told) else [(c, 1 / len(told)) for c, _ in told[:1]]
    return [{"language": code, "confidence": round(100 * p / whole, 1)} for code, p in rows]
