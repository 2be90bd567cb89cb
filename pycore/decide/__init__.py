"""Which shape: what each knob buys, and the frontier of context against concurrency."""
