"""FOLDER → WHAT IT IS: tokenizer, spec, labels, settings of any model's folder; no torch."""
