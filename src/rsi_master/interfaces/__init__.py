"""Clients of a run's owner and readers of its record, for people and for agents."""
