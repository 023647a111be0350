"""Models to and from Hugging Face folders: one file per family, and `folder.py` that reads and writes the folders."""
