"""PICTURES IN FILES: SVG by hand, PNG by matplotlib."""
