"""The sealed process: items, graders, decoding, the scanner and the exam counter.

It is started by name; of its modules only `benchmark` is meant for others, who extend it.
"""
