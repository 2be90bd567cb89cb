"""Which attention kernels the engine picks, and the blocks that they read."""
