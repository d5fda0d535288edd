"""A server of forks: what happens when it ends, cannot import, or is forked itself."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import tle_raw.linker.processes.fork_server as fork_server
from tests.linker.ended import is_over
from tle_raw.linker.processes.child_process import Limits, default_memory
from tle_raw.linker.processes.run_python import run_python

pytestmark = pytest.mark.one_triton
SOON = Limits(20.0, default_memory())
NUMBERS = "import os\nprint(os.getppid(), os.getpid())"


@pytest.fixture
def program(tmp_path):
    """A file, named by its content, that runs in a fork of a server of its own."""

    def write(code: str):
        file = tmp_path / f"program_{abs(hash(code))}.py"
        file.write_text(code)
        return file

    yield write
    for key in [key for key in fork_server._SERVERS if str(tmp_path) in str(key[1])]:
        fork_server._drop(key, fork_server._SERVERS[key])


def server_of(file) -> fork_server._Server:
    (found,) = (server for key, server in fork_server._SERVERS.items() if key[1] == str(file))
    return found


def test_modules_are_imported_once_and_each_run_is_a_process_of_its_own(program, tmp_path, monkeypatch):
    slow = tmp_path / "added" / "slow_to_import.py"
    slow.parent.mkdir()
    slow.write_text(f"open({str(tmp_path / 'imports')!r}, 'a').write('x')\nSEEN = []")
    monkeypatch.syspath_prepend(str(slow.parent))
    file = program("import slow_to_import as s\ns.SEEN.append(1)\nprint(s.SEEN)")
    for _ in range(3):
        assert run_python(file, limits=SOON, modules=["slow_to_import", "not_installed"]).output == b"[1]\n"
    assert (tmp_path / "imports").read_text() == "x"


def test_a_server_that_has_ended_is_started_again(program):
    file = program("print(1)")
    assert run_python(file, limits=SOON).output == b"1\n"
    first = server_of(file).process
    first.kill()
    assert run_python(file, limits=SOON).output == b"1\n"
    assert server_of(file).process is not first


def test_a_server_ends_when_it_has_no_work(program, monkeypatch):
    monkeypatch.setattr(fork_server, "IDLE", 0.2)
    file = program("print(1)")
    assert run_python(file, limits=SOON).output == b"1\n"
    assert server_of(file).process.wait(10) == 0
    assert run_python(file, limits=SOON).output == b"1\n"


def test_a_module_that_ends_its_process_leaves_a_python_started_anew(program, tmp_path, monkeypatch):
    (tmp_path / "kills.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    monkeypatch.syspath_prepend(str(tmp_path))
    file = program("import sys\nprint(sys.stdin.read())")
    assert run_python(file, limits=SOON, modules=["kills"], data=b"given").output == b"given\n"
    started = time.monotonic()
    assert run_python(file, limits=SOON, modules=["kills"], data=b"again").output == b"again\n"
    assert time.monotonic() - started < 19 and not any(key[1] == str(file) for key in fork_server._SERVERS)


def test_runs_of_threads_stand_side_by_side(program):
    file = program("import sys, time\ntime.sleep(0.2)\nprint(sys.stdin.read())")
    done: dict[int, bytes] = {}

    def run(number: int) -> None:
        done[number] = run_python(file, limits=SOON, data=str(number).encode()).output

    threads = [threading.Thread(target=run, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == {number: f"{number}\n".encode() for number in range(12)}


def test_variables_folder_and_messages_are_those_of_the_run(program, tmp_path, monkeypatch):
    file = program(
        "import os, sys\nprint(os.getcwd(), os.getenv('TRITON_X'))\nprint('said', file=sys.stderr)\nos._exit(3)"
    )
    for value in ("1", "2"):
        monkeypatch.setenv("TRITON_X", value)
        done = run_python(file, limits=SOON, folder=tmp_path)
        assert done.returncode == 3 and done.messages == "said\n"
    # What a program leaves in Python's buffer is lost when it ends itself, in a fork as elsewhere.
    assert done.output == b""
    file = program("import os\nprint(os.getcwd(), os.getenv('TRITON_X'))")
    for value in ("1", "2"):
        monkeypatch.setenv("TRITON_X", value)
        assert run_python(file, limits=SOON, folder=tmp_path).output.decode() == f"{tmp_path} {value}\n"


def test_a_process_that_was_forked_asks_a_server_of_its_own(program, tmp_path):
    file = program(NUMBERS)
    run_python(file, limits=SOON)
    ours = server_of(file).process
    pid = os.fork()
    if pid == 0:
        try:
            output = run_python(file, limits=SOON).output
            (tmp_path / "output").write_bytes(output + str(server_of(file).process.pid).encode())
            fork_server._end_all()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert ours.poll() is None and run_python(file, limits=SOON).output
    said = (tmp_path / "output").read_text().split()
    assert len(said) == 3 and int(said[2]) != ours.pid


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_runs_and_servers_end_with_the_process_that_asked(tmp_path, number):
    numbers = tmp_path / "numbers"
    slow = tmp_path / "slow.py"
    slow.write_text(
        f"import os, time\nopen({str(numbers)!r}, 'w').write(f'{{os.getpid()}} {{os.getppid()}}')\ntime.sleep(60)"
    )
    asker = (
        "from pathlib import Path\nfrom tle_raw.linker.processes.child_process import Limits\n"
        "from tle_raw.linker.processes.run_python import run_python\n"
        f"run_python(Path({str(slow)!r}), limits=Limits(60.0))"
    )
    process = subprocess.Popen([sys.executable, "-c", asker])
    while not (numbers.exists() and len(numbers.read_text().split()) == 2):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    process.wait()
    for pid in map(int, numbers.read_text().split()):
        assert is_over(pid)


def test_an_interpreter_ends_at_once_and_leaves_nobody(tmp_path):
    (tmp_path / "p.py").write_text("import os; print(os.getppid())")
    asker = (
        "from pathlib import Path\nfrom tle_raw.linker.processes import fork_server, run_python\n"
        "from tle_raw.linker.processes.child_process import Limits\n"
        f"run_python.run_python(Path({str(tmp_path / 'p.py')!r}), limits=Limits(60.0))\n"
        "print(*(s.process.pid for s in fork_server._SERVERS.values()))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", asker], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and not done.stderr and is_over(int(done.stdout))
