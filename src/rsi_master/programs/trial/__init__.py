"""Asks a base and a checkpoint the same prompts; started by name."""
