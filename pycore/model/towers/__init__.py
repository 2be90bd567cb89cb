"""Towers: what reads images and sound beside the text model, tensor by tensor."""
