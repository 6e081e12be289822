"""NUMBERS → PICTURES: terminal, SVG and PNG drawings; the first room, it knows no other."""
