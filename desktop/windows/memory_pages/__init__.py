"""The pages of the window "Memory"."""
