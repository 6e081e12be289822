"""The version, in one place; pyproject.toml reads it from the text."""

__version__ = "0.1.0"
