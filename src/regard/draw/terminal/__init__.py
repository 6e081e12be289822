"""PICTURES IN THE TERMINAL: rich renderables and progress."""
