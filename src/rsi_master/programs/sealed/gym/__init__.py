"""The benchmark `reasoning-gym`: short generated tasks for a small pre-trained base.

Only sealing draws from the package reasoning-gym; a sealed set is served without it.
"""
