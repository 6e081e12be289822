"""TO OTHER FORMATS: published folders, regard's own, ctranslate2; golden outputs prove it."""
