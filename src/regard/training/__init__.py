"""LOGITS → WEIGHTS: objective, schedule, optimizer and the loop that yields steps."""
