"""TileLang kernels as Metalium programs for Tenstorrent cards."""
