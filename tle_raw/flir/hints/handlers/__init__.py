"""The hints of this package, one meaning each."""
