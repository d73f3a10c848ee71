"""The client side of a Hypatia shelf: the child process, the tools, the names and the idempotent writer."""
