"""What the command line does: a module for each command, or for a few that belong together."""
