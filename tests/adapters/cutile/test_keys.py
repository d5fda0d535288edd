"""A fragment's key follows all that can change its code, and nothing else."""

from __future__ import annotations

import importlib.util
import linecache
import sys

import pytest

import tle_raw

TEXT = '''
import dataclasses
import functools
import cuda.tile as ct
import numpy as np

LIMIT = 3
SIZES = (1, 2)


@dataclasses.dataclass(frozen=True)
class Base:
    a: int

    @property
    def twice(self):
        return self.a * 2


@dataclasses.dataclass(frozen=True)
class Pair(Base):
    b: int = 5


def helper(x):
    return inner(x) + LIMIT


def inner(x):
    return x * SIZES[1]


def scaled_by(factor):
    def scale(x):
        return x * factor

    return scale


scale = scaled_by(2.0)


def reduced_by(operation, otherwise=None):
    def reduce(x):
        return operation(x)

    return reduce


def three_more(function):
    @functools.wraps(function)
    def wrapper(x):
        return function(x + 3)

    return wrapper


@three_more
def wrapped(x):
    return x


reduce = reduced_by(ct.max)
steps = [reduced_by(ct.min), reduced_by(ct.sum)]
step = steps[0]
steps.append(steps)
TABLE = {"first": (lambda x: x * 2, np.arange(2000))}
added = functools.partial(inner, 7)


def main(x):
    """A function."""
    x = steps[0](x) + step(x)
    return scale(helper(x)) + Pair(1).twice + reduce(x) + TABLE["first"][0](x) + added() + wrapped(x)


def other(x):
    return x - 1
'''


def key_of(tmp_path, text, **options):
    file = tmp_path / "functions.py"
    file.write_text(text)
    linecache.checkcache(str(file))
    spec = importlib.util.spec_from_file_location("functions_of_keys", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["functions_of_keys"] = module
    spec.loader.exec_module(module)
    return tle_raw.fragment(module.main, dialect="cutile", **options).cache_key


CHANGES = {
    "the function": ("return scale(helper(x)) +", "return scale(helper(x)) -"),
    "a function that it calls": ("inner(x) + LIMIT", "inner(x) - LIMIT"),
    "one two calls down": ("x * SIZES[1]", "x * SIZES[0]"),
    "a global number": ("LIMIT = 3", "LIMIT = 4"),
    "a global tuple": ("SIZES = (1, 2)", "SIZES = (1, 3)"),
    "what a closure holds": ("scaled_by(2.0)", "scaled_by(2.5)"),
    "a function of cuTile's that a closure holds": ("reduced_by(ct.max)", "reduced_by(ct.min)"),
    "a function in a dictionary": ("x * 2, np", "x * 3, np"),
    "a number in the middle of an array": ("np.arange(2000)", "np.where(np.arange(2000) == 1000, 0, np.arange(2000))"),
    "which one of two functions of one name": ("step = steps[0]", "step = steps[1]"),
    "a wrapper of a function": ("function(x + 3)", "function(x + 4)"),
    "an argument that is bound": ("partial(inner, 7)", "partial(inner, 8)"),
    "the default of a field": ("b: int = 5", "b: int = 6"),
    "a property of a base class": ("self.a * 2", "self.a * 3"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_the_key(tmp_path, name):
    before, after = CHANGES[name]
    assert before in TEXT
    assert key_of(tmp_path, TEXT) != key_of(tmp_path, TEXT.replace(before, after))


def test_what_leaves_the_key_alone(tmp_path):
    assert key_of(tmp_path, TEXT) == key_of(tmp_path, TEXT.replace("return x - 1", "return x - 2"))
    assert key_of(tmp_path, TEXT) == key_of(tmp_path, TEXT)


def test_options_are_in_the_key(tmp_path):
    keys = {key_of(tmp_path, TEXT, **o) for o in ({}, {"alone": True}, {"grid": {0: 1}}, {"lists": ["x"]})}
    assert len(keys) == 4
