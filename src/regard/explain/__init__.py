"""WHY: what a model attended to."""
