"""What the pages for developers say about where things are: every path, module and name of a test exists."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_triton

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/glossary.md")
ROOMS = ("adapters", "docs", "frontends", "linker", "samples", "tests", "tle_raw", "tools")
PATH = re.compile(rf"`((?:{'|'.join(ROOMS)})/[\w./-]*)(?:::(\w+))?`")
PAGES = ("README.md", *DOCUMENTS[:2], *sorted(f"docs/{page.name}" for page in ROOT.glob("docs/*.md")))
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
ANCHOR = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
CALL = re.compile(r"<!-- call: ([\w-]+) -->\n(.*?)<!-- end of call -->", re.DOTALL)
BOX = re.compile(r'\w+\["<b>([\w/]+)</b><br/>([^"]+)"\]')


def text(name):
    return (ROOT / name).read_text()


def headings(page):
    """The anchors of a page, spelled as GitHub does."""
    found = HEADING.findall(re.sub(r"```.*?```", "", page, flags=re.DOTALL))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_exists(document):
    found = PATH.findall(text(document))
    assert found
    for path, test in found:
        assert (ROOT / path).exists(), path
        assert not test or f"def {test}(" in text(path), f"{path}::{test}"


@pytest.mark.parametrize("document", PAGES)
def test_every_link_leads_to_a_file(document):
    for link in LINK.findall(CODE.sub("", text(document))):
        assert (ROOT / document).parent.joinpath(link).exists(), link


@pytest.mark.parametrize("document", PAGES)
def test_every_link_to_a_heading_finds_it(document):
    for page, anchor in ANCHOR.findall(CODE.sub("", text(document))):
        target = (ROOT / document).parent.joinpath(page) if page else ROOT / document
        assert anchor in headings(target.read_text()), f"{page}#{anchor}"


def test_the_pictures_show_modules_that_exist():
    pictures = dict(CALL.findall(text("ARCHITECTURE.md")))
    assert len(pictures) == 4
    for route, picture in pictures.items():
        boxes = BOX.findall(picture)
        assert len(boxes) > 5, route
        for folder, names in boxes:
            package = "tle_raw" if folder == "tle_raw" else f"tle_raw.{folder.replace('/', '.')}"
            for name in re.sub(r" and \d+ more$", "", names).split(", "):
                assert find_spec(package if name == "__init__" else f"{package}.{name}"), (
                    f"{route}: {package}.{name}; python tools/draw_call.py --write draws it anew"
                )


def test_a_call_is_drawn_from_the_modules_that_it_enters():
    command = [sys.executable, str(ROOT / "tools/draw_call.py"), "linked-on-nvidia"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    folders = [folder for folder, _ in BOX.findall(done.stdout)]
    assert folders.index("frontends/raw") < folders.index("linker/llvm") < folders.index("linker/ptx")
    assert "adapters/cuda" in folders and "emulation" not in folders


def test_the_smoke_has_a_test_of_every_room():
    lines = [line for line in text("tests/smoke.txt").splitlines() if line and not line.startswith("#")]
    assert lines and all((ROOT / line.partition("::")[0]).exists() for line in lines)
    rooms = {path.name for path in (ROOT / "tests/adapters").iterdir() if path.is_dir() and path.name != "__pycache__"}
    wanted = [f"tests/adapters/{room}/" for room in rooms]
    wanted += ["tests/linker/", "tests/frontends/", "tests/flir/", "tests/flir/cpu/", "tests/emulation/"]
    wanted += ["tests/tle_raw/", "tests/tle_raw/targets/cpu/"]
    for room in wanted:
        assert any(line.startswith(room) for line in lines), room
