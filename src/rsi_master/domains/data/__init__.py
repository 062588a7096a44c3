"""Data: the pool, sources, and datasets that exist only after the scan."""
