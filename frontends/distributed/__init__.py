"""Meshes of GPUs, clusters and blocks, and how tensors are laid out over them."""
