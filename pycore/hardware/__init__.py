"""Where the model runs."""
