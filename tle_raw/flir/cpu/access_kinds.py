"""What a program's log says of an access, in the lowest bits of an entry: see ``convert/access_log``."""

READ, WRITE, ATOMIC, RELEASE, ACQUIRE = range(5)
LOCAL = 8  # orders what programs of one device do, and nothing between devices; with ATOMIC: is no atomic for others
ENTRY_WORDS = 3
HEADER_WORDS = 9 + 64
