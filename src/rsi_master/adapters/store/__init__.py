"""Durable parts on a local disk: events in SQLite, objects and notes in folders, the run's lock."""
