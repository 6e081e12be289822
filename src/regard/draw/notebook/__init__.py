"""ANSWERS AS A NOTEBOOK SHOWS THEM: plain HTML, an SVG and a few lines of script, no build.

Colours lean on those of the page, so a light and a dark notebook are both served.
"""
