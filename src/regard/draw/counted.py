"""A count in words for a person: "1 layer", "2 layers", "1,000 pairs"."""


def counted(number: int, noun: str) -> str:
    """The number with its noun, which takes an s unless there is exactly one."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
