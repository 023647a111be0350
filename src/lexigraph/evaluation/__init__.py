"""Metrics, task suites and comparison tables; every score with its signature."""
