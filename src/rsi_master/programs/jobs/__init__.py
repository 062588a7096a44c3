"""Programs of jobs: the warm parent that forks them, and the recipes that run in its children."""
