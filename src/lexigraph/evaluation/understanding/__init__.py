"""What a pre-trained model is worth for understanding: the sets, their metrics, and baselines. Nothing is trained
here but linear models; what fine-tunes is `lexigraph.understanding`."""
