"""WEIGHTS ↔ DISK: safetensors and JSON, written atomically, checked when read."""
