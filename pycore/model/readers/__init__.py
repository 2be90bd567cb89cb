"""Readers: a config.json of one family of architectures, read into layers and tensors."""
