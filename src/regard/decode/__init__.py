"""WEIGHTS → IDS: greedy search, beam search, sampling, and the engines. It knows no text."""
