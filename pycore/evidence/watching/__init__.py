"""What to watch of a running server, and alerts that say so."""
