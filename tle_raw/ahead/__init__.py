"""Ahead of time: kernels and their fragments compiled on one machine for others."""
