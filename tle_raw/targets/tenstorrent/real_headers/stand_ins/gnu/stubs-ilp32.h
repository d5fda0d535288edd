// Of glibc; empty.
