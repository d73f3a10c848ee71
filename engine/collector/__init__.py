"""Which events are worth remembering, when a span ends, which project it belongs to."""
