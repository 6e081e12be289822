"""The embedded parallel corpora, made by grammars that we wrote: see corpus.py for the interface."""
