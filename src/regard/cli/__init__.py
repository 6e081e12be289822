"""COMMANDS: one file per command."""
