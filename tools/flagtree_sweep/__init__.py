"""The parts of ``sweep_flagtree.py``."""
