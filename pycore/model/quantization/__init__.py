"""How checkpoints store weights: methods, and which linears each of them covers."""
