"""Drawn scenes: pictures of 48 × 48 pixels made from numbers, which know what they show."""
