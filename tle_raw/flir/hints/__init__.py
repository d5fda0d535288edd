"""Hints: comments of a kernel's source, ``#@hint: shared_memory``, bound to the operations of the calls that they end.

A comment is read from the source that Triton has read, found again in Triton IR by its line, carried there as the
attribute ``tle.hint``, and handed to the handler of its name, which edits the operation. Nothing of Triton's parser is
touched, and a kernel without such comments is not looked at.
"""
