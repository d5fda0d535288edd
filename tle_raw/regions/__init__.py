"""One use of a fragment in a kernel: its ports, how they are written, traced and interpreted."""
