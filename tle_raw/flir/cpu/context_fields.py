"""The fields of a worker's context, 8 bytes each: ``tle_raw.flir.cpu`` says what they hold."""

SCRATCH, STATUS, WORKSPACE, FLAGS, RANGES, WAIT, NUMBER, END = range(8)
WAIT_CHECK, WAIT_ADDRESS, WAIT_VALUE, MEET, GROUP, MEMBER, LOG = range(8, 15)
WORKSPACES = 16  # the first of them
