"""Lexigraph: sequence models on your own text, from word vectors to transformers."""

__version__ = "0.1.0"
