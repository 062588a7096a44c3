"""Tasks, pools, graders and corpus of nano: for the sealed process and pre-training alone.

The folder is covered inside a job: no training can write questions of the evaluation splits.
"""
