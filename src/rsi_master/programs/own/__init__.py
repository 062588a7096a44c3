"""What is open of a person's own benchmark: how answers to it are read and compared."""
