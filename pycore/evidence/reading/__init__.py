"""Reading what servers print: logs, metrics, benchmarks and tools, line by line."""
