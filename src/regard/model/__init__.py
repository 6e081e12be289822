"""IDS → LOGITS: the paper's model. It knows no text and no data."""
