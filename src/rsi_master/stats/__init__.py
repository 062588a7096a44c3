"""Statistics of scores: intervals, paired comparison, multiple tests, power. Pure functions."""
