"""What is learned: corruptions and losses, pure functions on batches."""
