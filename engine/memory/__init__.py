"""What agents are told of earlier work, and what they may add to it."""
