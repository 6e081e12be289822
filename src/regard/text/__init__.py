"""TEXT → IDS: the tokenizer and the roles of special tokens."""
