"""Builds the package by scikit-build-core, and says on the terminal what the build does: pip alone shows nothing for minutes.

pyproject.toml names this file as the build backend. Without a terminal, as in CI, nothing is added. All output still goes to pip.
"""

import contextlib
import os
import re
import sys
import threading
import time

from scikit_build_core import build as _build
from scikit_build_core.build import (build_sdist, get_requires_for_build_editable, get_requires_for_build_sdist,
                                     get_requires_for_build_wheel, prepare_metadata_for_build_editable, prepare_metadata_for_build_wheel)

__all__ = ["build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
           "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel"]

EVERY = 2.0  # seconds between lines about files


class Progress:
    """Sentences about a build from the lines that it prints."""

    def __init__(self, terminal, clock=time.monotonic):
        self.terminal = terminal
        self.clock = clock
        self.begin = clock()
        self.last = -EVERY

    def say(self, text):
        # pip keeps a line of its own on the terminal: it is overwritten, and comes back below.
        with contextlib.suppress(OSError):
            self.terminal.write(f"\r\033[Kpairsieve: {text} ({self.clock() - self.begin:.0f} s)\n")
            self.terminal.flush()

    def read(self, line):
        """`line` is bytes."""
        text = re.sub(r"\033\[[0-9;]*m", "", line.decode(errors="replace")).strip()
        step = re.match(r"\[(\d+)/(\d+)\]", text)
        if step and (self.clock() - self.last >= EVERY or step[1] == step[2]):
            self.last = self.clock()
            self.say(f"built {step[1]} of {step[2]} files")
        elif text.startswith("*** ") or text.startswith("-- pairsieve "):
            self.say(text.lstrip("*- ").removeprefix("pairsieve ").rstrip("."))


def forward(source, target, progress):
    """Copies all bytes of the descriptor `source` to `target`, whatever they are, and shows whole lines to `progress`."""
    rest = b""
    while part := os.read(source, 65536):
        view = memoryview(part)
        while view:
            view = view[os.write(target, view):]
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            progress.read(line)


@contextlib.contextmanager
def shown():
    """What this process and its children print meanwhile is also shown in short on the terminal, where there is one."""
    try:
        terminal = open("/dev/tty", "w", encoding="utf-8")
    except OSError:
        yield
        return
    with terminal:
        sys.stdout.flush()
        real = os.dup(1)
        source, target = os.pipe()
        os.dup2(target, 1)
        os.close(target)
        thread = threading.Thread(target=forward, args=(source, real, Progress(terminal)))
        thread.start()
        try:
            yield
        finally:
            sys.stdout.flush()
            os.dup2(real, 1)  # closes the pipe's last end: the thread reads what is left and ends
            thread.join()
            os.close(source)
            os.close(real)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with shown():
        return _build.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    with shown():
        return _build.build_editable(wheel_directory, config_settings, metadata_directory)
