"""The report of a run: one page that needs nothing but itself, and its Markdown twin."""
