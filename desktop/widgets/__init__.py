"""Small reusable pieces."""
