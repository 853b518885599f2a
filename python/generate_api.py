"""Makes the module that cffi reads from the public headers, so that the declarations cannot differ from them.

usage: generate_api.py OUT.py HEADER.h...

The headers hold no macros within declarations and no conditional parts but those for C++, so a few rules are enough:
comments, conditional parts and inline functions go, numbers that are defined stay.
"""

import re
import sys

from cffi import FFI


def declarations(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif", "", text, flags=re.S)
    numbers = re.findall(r"^#define\s+(PSV_\w+)\s+((?:0x)?[0-9a-fA-F]+)[uUlL]*\s*$", text, flags=re.M)
    text = re.sub(r"\bPSV_API\b", "", text)
    text = re.sub(r"^#[^\n]*(?:\\\n[^\n]*)*", "", text, flags=re.M)
    text = re.sub(r"\bstatic inline\b[^{;]*\{(?:[^{}]|\{[^{}]*\})*\}", "", text)
    return "".join(f"#define {name} {value}\n" for name, value in numbers) + text


def main(out, headers):
    ffi = FFI()
    text = ""
    for path in headers:
        with open(path, encoding="utf-8") as file:
            text += declarations(file.read())
    ffi.cdef(text)
    ffi.set_source("pairsieve._api", None)
    ffi.emit_python_code(out)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
