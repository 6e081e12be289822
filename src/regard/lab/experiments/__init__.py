"""One file per claim of the notes."""
