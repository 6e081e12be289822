"""WHAT IT SURVIVES: which ways to compute do not end the process on this machine."""
