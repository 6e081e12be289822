"""IDS → ANSWERS: what a person asks for, composed from the rooms before."""
