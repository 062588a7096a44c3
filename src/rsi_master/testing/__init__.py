"""Honest fakes of the ports and contract suites; nothing in the stack imports this."""
