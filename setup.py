"""Finds the packages: the top-level folders are installed under the one import name ``tle_raw``.

Everything else stands in pyproject.toml, which has no way to say "discover under another name".
"""

from setuptools import find_packages, setup

# import name: folder. `adapters` and `linker` by themselves would collide with other people's packages.
FOLDERS = {
    "tle_raw": "tle_raw",
    "tle_raw.adapters": "adapters",
    "tle_raw.linker": "linker",
    "tle_raw.frontends": "frontends",
}

setup(
    package_dir=FOLDERS,
    packages=[
        package
        for name, folder in FOLDERS.items()
        for package in (name, *(f"{name}.{inner}" for inner in find_packages(folder)))
    ],
)
