"""The sealed process as seen from the owner: started, asked over a socket pair, never trusted with
more than rows and checkpoints. Items are drawn and read on the other side only."""
