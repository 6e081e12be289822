"""BLEU on raw, cased text of translations that are lowercased and tokenised.

    python tools/raw_bleu.py OUTPUT REFERENCE

Puts words and punctuation together again (sacremoses), begins each sentence with a capital, and
scores with sacreBLEU. German nouns stay small: the second figure, which ignores capitals, shows
how much that costs.
"""

import sys
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesDetokenizer


def main() -> None:
    output, reference = (
        Path(name).read_text(encoding="utf-8").splitlines() for name in sys.argv[1:]
    )
    together = MosesDetokenizer(lang="de").detokenize
    texts = [together(line.split()) for line in output]
    texts = [text[:1].upper() + text[1:] for text in texts]
    for bleu in (BLEU(), BLEU(lowercase=True)):
        print(f"{bleu.corpus_score(texts, [reference]).score:.2f}   {bleu.get_signature()}")


if __name__ == "__main__":
    main()
