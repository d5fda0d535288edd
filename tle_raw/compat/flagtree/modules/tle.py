"""``triton.experimental.tle``."""
