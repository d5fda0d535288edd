"""What a kernel's metadata says of programs that run together, where there are any."""

BLOCKS = "cluster_blocks"  # of a cluster
PROGRAMS = "grid_programs"  # the first axis of the grid is a multiple of it
COOPERATIVE = "cooperative_grid"  # all of the grid meets: how many programs that must be, or 0
