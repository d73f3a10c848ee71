"""Model routes, providers, reasoning effort and the one streaming chat client (engine.md 8)."""
