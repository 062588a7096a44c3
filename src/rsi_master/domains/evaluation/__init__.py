"""Evaluation: comparisons of recorded verdicts, for those who may see them."""
