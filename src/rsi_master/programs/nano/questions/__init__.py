"""The questions that can be checked from their text alone, open to training jobs.

A module a task: a frozen question with its `text`, the `key` that names it in the partition, `read`
to get it back from the text, and `points` for an answer. Nothing here draws a question.
"""
