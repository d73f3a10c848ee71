"""The companion's own durable state."""
