"""Planning: Workers, directions, candidates, the champion's claim."""
