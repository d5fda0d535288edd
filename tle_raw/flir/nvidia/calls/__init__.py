"""How each pass for NVIDIA GPUs is called: a method for each, in the files of the parts of the pipeline."""
