"""PASSAGES: a folder of texts becomes an index; a query finds passages in it."""
