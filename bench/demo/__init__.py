"""The demonstration under several seeds, and the page about what came out."""
