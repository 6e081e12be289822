"""Headers of weight files of every common kind: one reader each, which runs nothing in them."""
