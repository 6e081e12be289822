"""BY HAND: a person's own calculation, checked line by line."""
