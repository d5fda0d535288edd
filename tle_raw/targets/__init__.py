"""Triton backends that this package adds."""
