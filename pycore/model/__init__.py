"""What is served: a config.json read into layers and tensors."""
