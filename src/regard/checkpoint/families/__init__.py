"""One file for each family of published checkpoints: its config, its names, its quirks, as data."""
