"""TLE-Lite: portable extensions of Triton's language, each made of Triton's own operations."""
