"""RSI-Master: autonomous post-training whose every step is checked, recorded and verifiable."""

__version__ = "0.1.0"
