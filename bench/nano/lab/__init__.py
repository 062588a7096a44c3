"""One step of a lineage in a process of its own, at one thread: folder in, folder out."""
