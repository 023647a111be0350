"""The latent suite: what a system that encodes and decodes sentences can do with their vectors, part by part."""
