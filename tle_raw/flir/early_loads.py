"""Loads that a loop starts some iterations before their value is used: the note that Triton's pipeliner reads."""

EARLY = "tt.latency"
_FEWEST_STAGES = 2


def iterations_ahead(stages: int) -> int:
    """How many iterations before, of so many that are in flight; less than two count as two."""
    return max(stages, _FEWEST_STAGES) - 1
