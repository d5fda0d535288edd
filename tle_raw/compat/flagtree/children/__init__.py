"""A folder for ``PYTHONPATH``: Python processes that a program starts know FlagTree's names, too."""
