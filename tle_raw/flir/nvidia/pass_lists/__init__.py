"""The passes for NVIDIA GPUs, by what they work on: ``flir/nvidia/passes.py`` puts them in order."""
