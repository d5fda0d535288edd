"""The fields of a worker's context, 8 bytes each: ``tle_raw.flir.cpu`` says what they hold."""

SCRATCH, STATUS, WORKSPACE, FLAGS, RANGES, WAIT, NUMBER, END = range(8)
WAIT_CHECK, WAIT_ADDRESS, WAIT_VALUE = range(8, 11)
GRID_MEMORY = 11
GROUP, MEMBER, LOG, SCRATCH_BYTES = range(12, 16)
WORKSPACES = 16  # the first of them
# What a program of a group asks, in place of whether memory had news (0 or 1): an arrival at the cluster's barrier, a
# wait there, barriers of the grid and of a part of the cluster, a wait for a phase of a barrier in shared memory, and
# the meeting of a cluster before its blocks reach each other.
ARRIVE, WAIT_IN_CLUSTER, GRID, PART, PHASE, START = range(2, 8)
