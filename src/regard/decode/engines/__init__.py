"""The engines behind decode/engine.py."""
