"""Tasks, pools, graders and corpus of nano: for the sealed process and pre-training alone.

The folder is covered inside a job. That hides how questions are drawn, not what they look like: a
job can write questions of any split with the open modules, and the right answers of many. The drawn
items are protected by the secret seed and by the scanner; the open verifier has no verdict there.
"""
