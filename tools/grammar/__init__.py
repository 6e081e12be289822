"""The grammar that makes the phrasebook: lexicon and patterns in, pairs of sentences out."""
