"""The windows: plain values in, signals out."""
