"""One file that holds everything the companion keeps, and putting it back: whole or not at all."""
