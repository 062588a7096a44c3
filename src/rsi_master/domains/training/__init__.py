"""Training: specifications of recipes, what a training reports, and the owner's check of it."""
