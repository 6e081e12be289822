"""Is it so? Claims of the notes, each as an experiment that can fail."""
