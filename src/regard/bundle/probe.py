"""Sentences that engines are compared on: of a run those held out, else a few of everyday."""

from regard.runs.folder import Run, read_texts

ProbePair = tuple[str, str | None]  # a source with its reference, where there is one
PROBES = 500  # fewer, and BLEU moves by more than 0.2 with every second sentence
# For models without validation pairs of their own.
SENTENCES = (
    "How are you?",
    "I would like a cup of coffee, please.",
    "The animal didn't cross the street because it was too tired.",
    "She has lived in this town for more than twenty years.",
    "They went to the bank to exchange money.",
    "What time does the next train leave?",
    "The committee will meet again on Monday to discuss the new proposal.",
    "We are friends.",
    "If it rains tomorrow, we will stay at home and read.",
    "Two young men are playing football in front of a large white house.",
    "No.",
    "The price of bread has risen by 3.5 percent since last year.",
)


def probe_of(run: Run | None) -> list[ProbePair]:
    """Evenly from all over the held-out pairs: their beginning may be all of one kind."""
    file = None if run is None else run.whole("valid.jsonl")
    rows = read_texts(file, source=str, target=str) if file and file.exists() else []
    if not rows:
        return [(text, None) for text in SENTENCES]
    step = max(1, len(rows) // PROBES)
    return [(row["source"], row["target"]) for row in rows[::step][:PROBES]]
