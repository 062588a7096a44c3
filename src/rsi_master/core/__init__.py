"""Nouns and rules of the Experiment OS: no I/O, clock or randomness, only pydantic beside it."""
