"""Where jobs run: warm parents, and the isolation that holds on this machine."""
