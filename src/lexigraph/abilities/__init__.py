"""What a trained model can do, one kind of ability a file; textmodel.py puts them together."""
