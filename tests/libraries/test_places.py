"""Packed code does not tell where its sources stood."""

from pathlib import Path

import pytest

from tle_raw.libraries.packing.places import without_places

pytestmark = pytest.mark.one_triton


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            '!DIFile(filename: "/home/a b/acme/x/y.cuh", directory: "/home/a b/acme")',
            '!DIFile(filename: "x/y.cuh", directory: "acme")',
        ),
        ('!DIFile(filename: "/usr/include/math.h", directory: "")', '!DIFile(filename: "math.h", directory: "")'),
        (
            '!DISubprogram(name: "f<(lambda at /home/a b/acme/x/y.cuh:138:59)>")',
            '!DISubprogram(name: "f<(lambda at x/y.cuh:138:59)>")',
        ),
        (
            '!DICompositeType(name: "g<(lambda at /home/a b/acme/y.cu:1:2), (unnamed class at /opt/(z)/t.h:3:4)>")',
            '!DICompositeType(name: "g<(lambda at y.cu:1:2), (unnamed class at t.h:3:4)>")',
        ),
        ('!{!"meet at /home/a b/acme/y.cu"}', '!{!"meet at /home/a b/acme/y.cu"}'),
    ],
)
def test_places_are_told_from_the_manifests_folder(old, new):
    head = "define void @f() {\n  ret void, !a !0\n}\n"
    assert without_places(f"{head}!0 = {old}\n", Path("/home/a b/acme")) == f"{head}!0 = {new}\n"
