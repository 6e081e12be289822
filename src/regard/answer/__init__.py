"""WEIGHTS → ANSWERS: translate, complete, fill, classify, tag, see, embed, score."""
