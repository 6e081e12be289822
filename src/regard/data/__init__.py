"""IDS → BATCHES: corpora, the embedded phrasebook, ids on disk, batches."""
