"""What a program's log says of an access, in the lowest bits of an entry: see ``convert/access_log``."""

READ, WRITE, ATOMIC, RELEASE, ACQUIRE = range(5)
# How far an atomic reaches, by its scope: what it orders, and to whom it is one access. Without either, everywhere.
LOCAL = 8  # "gpu": what programs of one device do, and nothing between devices
OF_PROGRAM = 16  # "cta": nothing between programs
ENTRY_WORDS = 3
HEADER_WORDS = 9 + 64
