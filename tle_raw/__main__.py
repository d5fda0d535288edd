"""``python -m tle_raw``."""

import sys

from tle_raw.cli import main

if __name__ == "__main__":
    sys.exit(main())
