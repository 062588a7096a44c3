"""Control: what the run's state is, and its steering."""
