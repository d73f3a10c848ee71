"""Connecting agents to the companion: the exact change is shown first, made as text, and taken back byte for byte."""
