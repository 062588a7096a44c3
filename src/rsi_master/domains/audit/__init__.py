"""Audit: adjudication of integrity by a person."""
