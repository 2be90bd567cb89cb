"""What runs the model: vLLM's defaults, its KV pool, its overheads and its refusals."""
