"""``tle.pipe``: slots of shared memory that go from a writer to its readers and back."""
