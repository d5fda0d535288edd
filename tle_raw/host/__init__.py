"""This machine's CPU: code is generated for it, loaded, and read."""
