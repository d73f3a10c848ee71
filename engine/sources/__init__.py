"""Where conversations come from: finding logs, following them, one reader per agent."""
