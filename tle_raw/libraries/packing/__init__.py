"""From a manifest and sources to a package."""
