"""Recipes by name: a commented .toml file for each experiment; `named.py` opens them."""
