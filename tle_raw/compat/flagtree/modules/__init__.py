"""FlagTree's modules: a file here is ``triton.experimental.tle`` and what is below, dots written as underlines."""
