"""Nouns and rules of the Experiment OS: no I/O, no clock, no randomness, no third party but pydantic."""
