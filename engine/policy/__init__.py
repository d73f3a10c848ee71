"""Pure functions on text: redaction, relative dates, caps, slugs, token estimate."""
