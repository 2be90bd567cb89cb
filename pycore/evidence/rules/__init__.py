"""What cannot all be true of one run."""
