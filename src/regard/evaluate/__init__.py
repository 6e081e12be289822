"""HOW GOOD: scores of a model on a test set."""
