"""Every program that the library starts is isolated, bounded, and ended with all that it started."""

import signal
import subprocess
import sys
import threading
import time

import pytest

import tle_raw.linker.processes.run_python as forked
from tests.linker.ended import is_over
from tle_raw.linker.processes.child_path import child_path
from tle_raw.linker.processes.child_process import (
    MIB,
    Finished,
    Limits,
    clean_environment,
    default_memory,
    python_child,
    run_child,
)

pytestmark = pytest.mark.one_triton
SOON = Limits(20.0, default_memory())


@pytest.fixture(params=["anew", "forked"])
def run_python(request, tmp_path):
    """Runs code in a Python that is started for it, or in a fork of one that has been started before."""

    def run(code: str, limits: Limits = SOON, data: bytes = b"") -> Finished:
        program = tmp_path / "program.py"
        program.write_text(code)
        if request.param == "anew":
            return run_child(python_child(program, "a b", limits=limits), limits=limits, data=data)
        return forked.run_python(program, "a b", limits=limits, data=data, modules=["ctypes"])

    return run


def test_input_output_and_messages(run_python, tmp_path):
    code = "import sys\nprint(sys.argv[1:], sys.stdin.read())\nprint('said', file=sys.stderr)\nsys.exit(3)"
    done = run_python(code, data=b"given")
    assert done == Finished(3, b"['a b'] given\n", "said\n") and done.how == "failed (return code 3)"


@pytest.mark.parametrize("name", ["json", "tle_raw", "llvmlite", "sitecustomize", "usercustomize", "ctypes"])
def test_a_module_planted_in_the_current_folder_is_not_executed(run_python, tmp_path, monkeypatch, name):
    planted = tmp_path / "here"
    planted.mkdir()
    (planted / f"{name}.py").write_text(f"open({str(tmp_path / 'was_executed')!r}, 'w')")
    monkeypatch.chdir(planted)
    for entry in ("", ".", str(planted)):
        monkeypatch.syspath_prepend(entry)
    monkeypatch.setenv("PYTHONPATH", str(planted))
    done = run_python("import json, ctypes, llvmlite, tle_raw.linker.llvm.text\nprint(tle_raw.__file__)")
    import tle_raw

    assert done.output.decode().strip() == tle_raw.__file__, done.messages
    assert not (tmp_path / "was_executed").exists()


def test_the_packages_that_a_user_added_are_found(run_python, tmp_path, monkeypatch):
    added = tmp_path / "added"
    added.mkdir()
    (added / "only_here.py").write_text("FOUND = 7")
    monkeypatch.syspath_prepend(str(added))
    assert run_python("import only_here; print(only_here.FOUND)").output == b"7\n"
    assert child_path()[0] == str(added)


def test_a_deleted_current_folder_harms_nobody(run_python, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run_python("print(1)").output == b"1\n"


def test_only_known_variables_reach_a_child(run_python, tmp_path, monkeypatch):
    for name in ("CPATH", "CCC_OVERRIDE_OPTIONS", "PYTHONSTARTUP", "MY_SECRET"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("TRITON_CACHE_DIR", "/there")
    assert not {"CPATH", "CCC_OVERRIDE_OPTIONS", "PYTHONSTARTUP", "MY_SECRET"} & set(clean_environment())
    seen = run_python("import os; print(sorted(os.environ))").output.decode()
    assert "TRITON_CACHE_DIR" in seen and "MY_SECRET" not in seen


def test_time_ends_the_child_and_what_it_started(run_python, tmp_path):
    file = tmp_path / "number"
    code = "import subprocess\np = subprocess.Popen(['sleep', '60'])\n"
    code += f"open({str(file)!r}, 'w').write(str(p.pid))\np.wait()"
    start = time.monotonic()
    done = run_python(code, Limits(3.0))
    assert done.returncode is None and "in time" in done.how and time.monotonic() - start < 30
    assert is_over(int(file.read_text()))


def test_what_a_finished_child_left_behind_is_ended(run_python, tmp_path):
    done = run_python("import subprocess\nprint(subprocess.Popen(['sleep', '60']).pid)")
    assert is_over(int(done.output))


@pytest.mark.parametrize(("command", "how"), [
    (["yes"], "wrote more"),
    (["sh", "-c", "kill -SEGV $$"], "crashed (SIGSEGV)"),
])  # fmt: skip
def test_output_has_a_bound_and_crashes_are_named(command, how):
    done = run_child(command, limits=Limits(20.0, file=MIB))
    assert len(done.output) < 256 * MIB and how in done.how  # the limit comes when the program has begun


def test_a_signal_without_a_name(tmp_path):
    assert "signal 40" in run_child(["sh", "-c", "kill -40 $$"], limits=SOON).how


def test_memory_has_a_bound(run_python, tmp_path):
    done = run_python("x = bytearray(1 << 30)", Limits(20.0, memory=400 * MIB))
    assert "MemoryError" in done.messages
    assert "wrote more" in run_python("open('f', 'wb').write(bytes(1 << 22))", Limits(20.0, file=MIB)).how


def test_a_program_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        run_child([str(tmp_path / "no_such_program")], limits=SOON)


def test_a_relative_program_is_meant_from_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "tool").symlink_to("/bin/echo")
    monkeypatch.chdir(tmp_path)
    assert run_child(["./tool", "hi"], limits=SOON).output == b"hi\n"


def test_children_of_threads(tmp_path):
    done: list[Finished] = []
    threads = [threading.Thread(target=lambda: done.append(run_child(["echo", "x"], limits=SOON))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [d.output for d in done] == [b"x\n"] * 8


def test_a_child_ends_with_the_process_that_asked(tmp_path):
    number, program = tmp_path / "number", tmp_path / "slow.py"
    program.write_text(f"import os, time\nopen({str(number)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)")
    asker = (
        "from pathlib import Path\nfrom tle_raw.linker.processes.child_process import *\nlimits = Limits(60.0)\n"
        f"run_child(python_child(Path({str(program)!r}), limits=limits), limits=limits)"
    )
    process = subprocess.Popen([sys.executable, "-c", asker])
    while not (number.exists() and number.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert is_over(int(number.read_text()))
