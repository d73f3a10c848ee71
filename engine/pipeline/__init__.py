"""The durable queue and what its tasks do."""
