"""Ctrl-C in long calls of the library.

Python runs the handler of a signal in the main thread, after the call that this thread is in. A long call of the main thread
therefore runs in a thread of its own while the main thread waits. KeyboardInterrupt ends that wait. The call itself goes on to its
end, since a frame that stops halfway would leave the library's memory in no order.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

_MAIN = threading.main_thread().ident
_POLL = 0.2  # seconds; Windows does not interrupt a wait without an end


def can_be_interrupted() -> bool:
    """True in the one thread that signals reach."""
    return threading.get_ident() == _MAIN


class _Job:
    """One call, what it works on, and its result."""

    def __init__(self, call: Callable[..., int], args: tuple[Any, ...], keep: Any) -> None:
        self.call, self.args, self.keep = call, args, keep
        self.taken = self.finished = False
        self.result: int | BaseException = 0

    def run(self) -> None:
        self.taken = True
        try:
            self.result = self.call(*self.args)
        except BaseException as error:  # the caller's thread raises it
            self.result = error
        self.args, self.keep = (), None
        self.finished = True


class Helper:
    """A thread that runs one call after the other for the main thread."""

    _idle: Helper | None = None

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._ends: SimpleQueue[None] = SimpleQueue()  # a token for each job that ended; too many do no harm
        self._job: _Job | None = None
        threading.Thread(target=_serve, args=(self._jobs, self._ends), name="pairsieve", daemon=True).start()

    @classmethod
    def take(cls) -> Helper:
        """The thread of the call before, or another one while that one is busy with an interrupted call."""
        helper, cls._idle = cls._idle, None
        return cls() if helper is None else helper

    def run(self, call: Callable[..., int], args: tuple[Any, ...], keep: Any) -> int:
        """The result of call(*args). KeyboardInterrupt leaves the call to itself; :meth:`wait` then waits for its end."""
        job = self._job = _Job(call, args, keep)
        try:
            self._jobs.put(job)
            return self.wait()
        except KeyboardInterrupt:
            _end_without(keep)
            self._jobs.put(job)  # where it was not put yet; a job runs once
            raise

    def wait(self) -> int:
        job = self._job
        while job is not None and not job.finished:
            try:
                self._ends.get(timeout=_POLL)
            except Empty:
                pass
        if Helper._idle is None:
            Helper._idle = self
        elif Helper._idle is not self:
            self._jobs.put(None)
        result = 0 if job is None else job.result
        if isinstance(result, BaseException):
            raise result
        return result


def _serve(jobs: SimpleQueue[_Job | None], ends: SimpleQueue[None]) -> None:
    while (job := jobs.get()) is not None:
        if not job.taken:
            job.run()
        del job
        ends.put(None)


def _end_without(keep: Any) -> None:
    """A program that ends while a call runs does not destroy the objects under it."""
    for owner in keep if isinstance(keep, (tuple, list)) else (keep,):
        if isinstance(owner, (tuple, list)):
            _end_without(owner)
        finalizer = getattr(owner, "_finalizer", None)
        if isinstance(finalizer, weakref.finalize):
            finalizer.atexit = False


def _forget() -> None:
    global _MAIN
    Helper._idle = None  # threads do not live on in a child process
    _MAIN = threading.get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
