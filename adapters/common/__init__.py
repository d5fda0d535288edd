"""What adapters of several dialects share."""
