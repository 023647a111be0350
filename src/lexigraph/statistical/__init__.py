"""Translation by counting, as it was before networks: alignments by EM, a phrase table, an n-gram model, a beam."""
