"""WHICH ENGINE: torch or ctranslate2, in which precision and layout; measured once, kept."""
