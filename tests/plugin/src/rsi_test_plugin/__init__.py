"""Extensions for tests: they enter by the same entry points as anyone's, and load no torch."""
