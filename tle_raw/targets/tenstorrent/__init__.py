"""TileLang kernels as programs for Tenstorrent cards: a reader, a compute kernel, a writer, a host program, a plan."""
