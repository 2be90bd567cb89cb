"""How the engine plans its KV cache: specs, groups, pages, and what a pool holds."""
