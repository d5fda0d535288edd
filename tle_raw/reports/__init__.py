"""``tle_raw.report``: what became of each region of a compiled kernel, proven from its machine code."""
