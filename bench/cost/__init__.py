"""What the Experiment OS costs beside the same trainings as bare scripts."""
