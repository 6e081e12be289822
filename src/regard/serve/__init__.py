"""OVER HTTP: models that other programs ask, in the dialects that these already speak."""
