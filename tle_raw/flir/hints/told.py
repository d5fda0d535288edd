"""What hints leave in a kernel's metadata, for reports and launchers."""

KEY, TOLD = "tle_raw_hints", "tle_raw_told"  # what became of each hint; what handlers tell of the kernel as a whole
STORES = "stores"  # told: whether they go past the caches
ALWAYS, NEVER = "always", "never"
