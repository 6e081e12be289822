"""WORKSHEETS: a calculation as a person would write it; terminal, web page, LaTeX."""
