"""PICTURES IN FILES: drawn once on a canvas, written as SVG or PNG; curves by matplotlib."""
