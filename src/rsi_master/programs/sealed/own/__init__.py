"""The benchmark `jsonl`: questions and answers that a person gives in a file.

docs/own.md says what the file holds, how it is split and how answers are compared.
"""
