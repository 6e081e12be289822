"""The embedded parallel corpora, made by grammars that we wrote; corpus.py is the interface."""
