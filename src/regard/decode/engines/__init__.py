"""The two engines behind decode/engine.py; which of them answers, regard/engines/ chooses."""
