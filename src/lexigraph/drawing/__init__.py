"""What stands above words: trees as SVG, drawn by plain arithmetic."""
