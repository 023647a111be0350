"""Counts, n-grams and word vectors: NumPy, SciPy and Numba, no torch."""
