"""TileLang kernels as programs for Tenstorrent cards: reader, compute kernel, writer, host program, plan."""
