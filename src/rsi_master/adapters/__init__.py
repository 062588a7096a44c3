"""Parts behind the ports of `core.ports`; strangers to each other."""
