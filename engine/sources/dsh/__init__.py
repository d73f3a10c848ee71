"""Session logs of DSH, format versions 0 to 4."""
