"""RUN FOLDERS: what a training is asked for and what it leaves: recipe, log, curves, listing."""
