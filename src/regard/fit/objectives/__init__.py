"""One file an objective: its data, its loss, how it is judged. Its row is in runs/objectives.py."""
