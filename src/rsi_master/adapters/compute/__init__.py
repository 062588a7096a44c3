"""Engines that run jobs by name."""
