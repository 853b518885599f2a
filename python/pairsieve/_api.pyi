"""The module that the build makes from the public headers; cffi knows its types at run time alone."""

from typing import Any

ffi: Any
