"""PTX: its reader, and one edit a file."""
