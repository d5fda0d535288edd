"""A thread block takes itself for its whole cluster; a comment in its machine code says that it has asked for one."""

OF_A_CLUSTER = "# of a cluster"
