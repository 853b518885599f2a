"""Packages that adapters stand beside: imported when an adapter is, with a sentence that says what to install."""

from __future__ import annotations

import importlib
from typing import Any


def peer(name: str, adapter: str, extra: str) -> Any:
    """The module `name`; without it an ImportError that names the adapter and how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"{adapter} needs {package}: pip install 'pairsieve[{extra}]' ({error})", name=package) from error
