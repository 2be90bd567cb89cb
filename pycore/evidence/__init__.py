"""Did it agree: what a real run printed, held against what Napkin says of it."""
