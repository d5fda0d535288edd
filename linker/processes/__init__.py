"""Other programs: how they are started and bounded, and the files that this process and they share."""
