"""Hindi: morphology (nominal.py, verbal.py), the grammar that joins them, and its helper verbs."""
