"""The application: the only place that picks parts and puts them together."""
