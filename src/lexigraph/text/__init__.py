"""From raw text to token ids, as NumPy arrays: readers, cleaning, corpora, tokenizers, batches."""
