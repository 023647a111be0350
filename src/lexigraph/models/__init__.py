"""One file per system."""
