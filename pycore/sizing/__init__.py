"""The napkin: weights, budget, capacity and the record of how each figure came about."""
