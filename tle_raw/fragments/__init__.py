"""What a user declares: a signature over foreign device code, bound to the arguments of a call, and compiled."""
