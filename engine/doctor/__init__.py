"""What a supporter would ask first: every part is looked at, each fault comes with its fix, nothing is changed."""
