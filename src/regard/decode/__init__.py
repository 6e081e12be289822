"""WEIGHTS → IDS: greedy and beam search over a cached session. It knows no text."""
