"""STORES → A TRAINED RUN: the trainer, its checkpoints, validation, and what is told on the way."""
