"""Reviewer-Guided Research Orchestration: who is asked what, and within which limits. Pure."""
