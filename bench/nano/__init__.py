"""The landscape of nano: which recipe, data, length and lineage reach what, at which cost.

`python -m bench.nano docs/nano.md` runs every step that has no result yet, and writes the page.
"""
