"""Fillings of the roles. An agent sees a question and a token-bound session, nothing else."""
