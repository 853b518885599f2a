"""What `pip install .` says on the terminal while it builds."""

import importlib.util
import os
import pathlib
import pty
import subprocess
import sys
import textwrap

import pytest

PATH = pathlib.Path(__file__).parent.parent / "build_backend.py"

# The backend with a build that prints what scikit-build-core and ninja print; its own output goes to a file, as pip takes it.
CHILD = """
import subprocess, sys, types
fake = types.ModuleType("scikit_build_core.build")
for name in ("build_sdist", "get_requires_for_build_editable", "get_requires_for_build_sdist", "get_requires_for_build_wheel",
             "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel"):
    setattr(fake, name, None)
def build_wheel(folder, settings, metadata):
    print("*** Configuring CMake...")
    sys.stdout.flush()
    subprocess.run([sys.executable, "-c", "import os; os.write(1, b'[1/3] Building C object a.o\\\\n[2/3] b\\\\xff\\\\n[3/3] Linking\\\\nno newline')"])
    if settings:
        raise RuntimeError("the build failed")
    return "name.whl"
fake.build_wheel = fake.build_editable = build_wheel
package = types.ModuleType("scikit_build_core")
package.build = fake
sys.modules |= {"scikit_build_core": package, "scikit_build_core.build": fake}
sys.path.insert(0, sys.argv[1])
import build_backend
build_backend.EVERY = 0.0
try:
    print(build_backend.build_wheel(".", sys.argv[2:] or None))
except RuntimeError as error:
    print(error)
"""
PRINTED = b"*** Configuring CMake...\n[1/3] Building C object a.o\n[2/3] b\xff\n[3/3] Linking\nno newline"


def build(tmp_path, *settings):
    """(what the build printed, what the terminal shows)"""
    script, out = tmp_path / "child.py", tmp_path / "out"
    script.write_text(textwrap.dedent(CHILD), encoding="utf-8")
    pid, terminal = pty.fork()
    if pid == 0:
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT, 0o600), 1)
        os.execv(sys.executable, [sys.executable, str(script), str(PATH.parent), *settings])
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:  # the child has ended
        pass
    os.waitpid(pid, 0)
    return out.read_bytes(), shown.decode().replace("\r\033[K", "")


@pytest.mark.skipif(not PATH.exists() or sys.platform == "win32", reason="needs the tree and a terminal")
def test_terminal_says_what_is_built(tmp_path):
    printed, shown = build(tmp_path)
    assert printed == PRINTED + b"name.whl\n"
    lines = [line.partition(" (")[0] for line in shown.split("\r\n") if line]
    assert lines == ["pairsieve: Configuring CMake", "pairsieve: built 1 of 3 files", "pairsieve: built 2 of 3 files",
                     "pairsieve: built 3 of 3 files"]
    assert all(line.endswith(" s)") for line in shown.split("\r\n") if line)


@pytest.mark.skipif(not PATH.exists() or sys.platform == "win32", reason="needs the tree and a terminal")
def test_a_failure_is_passed_on(tmp_path):
    printed, _ = build(tmp_path, "fail")
    assert printed == PRINTED + b"the build failed\n"


@pytest.mark.skipif(importlib.util.find_spec("scikit_build_core") is None, reason="needs scikit-build-core")
def test_without_a_terminal_nothing_is_added():
    code = f"import sys; sys.path.insert(0, {str(PATH.parent)!r}); import build_backend\nwith build_backend.shown(): print('built')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, start_new_session=True, check=True)
    assert ran.stdout == "built\n" and ran.stderr == ""
