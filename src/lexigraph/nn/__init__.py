"""The layers and small protocols that models share."""
