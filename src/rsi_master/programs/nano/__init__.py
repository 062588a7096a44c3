"""Nano: an embedded base model of 0.6 million parameters and the generated benchmark for it.

The base fails where several steps must be joined. Training jobs import `verifiers` and may import
what it needs; `generator/` is covered there, so what needs that (`pretrain`, `judge`) fails.
"""
