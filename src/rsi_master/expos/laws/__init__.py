"""Laws that a sound record keeps, a module for each noun; `expos/books.py` lists them."""
