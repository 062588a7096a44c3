"""Nano: an embedded base model of half a million parameters and the generated benchmark for it.

Tasks and graders are for the sealed process only; training jobs may import `verifiers` alone.
"""
