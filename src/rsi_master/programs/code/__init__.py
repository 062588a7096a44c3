"""Code that agents wrote: a cold process for each job, and the runner in it. Standard library only:
neither has anything else to import, and neither is believed by anybody."""
