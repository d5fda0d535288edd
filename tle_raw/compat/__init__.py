"""Other systems' names for what this package has, so that their programs run as they are."""
