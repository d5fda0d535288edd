"""How the elements of a buffer lie in memory, one layout a file.

libtriton ends the process on some layouts that cannot be. Each is checked here, in Python, when it is made and once
more against the buffer's shape and dtype, before libtriton sees it.
"""
