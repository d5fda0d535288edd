"""Calling a fragment inside a kernel: arguments in, port markers out."""
