"""Search over steppers: greedy, sampling, beam and exhaustive, each written once, on batches."""
