"""Device code written in another language, inside a Triton kernel."""
