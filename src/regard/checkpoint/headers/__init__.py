"""Headers of weight files of every common kind, read without running anything in them."""
