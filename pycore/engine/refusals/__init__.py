"""What the engine refuses before it serves, in its own words."""
