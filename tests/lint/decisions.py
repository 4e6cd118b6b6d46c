"""Finds code that decides by the words of an error's message: an error of Rushlight has a code and fields for this.

PyTorch, V8 and Node give some errors no other mark. The files of ALLOWED decide by the words of these, and say so.
"""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
TESTS = {
    ".py": r"(?:\bin|[=!]=) str\(\w+\)(?!\.)|\bstr\(\w+\)\.(?:startswith|endswith|find|index|count)\("
           r"|\b(?:search|match|fullmatch|findall)\((?:[^()]*, )?str\(\w+\)",
    ".js": r"\bmessage\??\.(?:match|matchAll|includes|startsWith|endsWith|search|indexOf)\("
           r"|\bmessageOf\(\w+\)\.(?:match|includes|startsWith|endsWith|search|indexOf)\("
           r"|\.(?:test|exec)\((?:\w+\??\.)*message\)|\.(?:test|exec)\(messageOf\(",
    ".cpp": r"\bwhat\(\)\)?\.(?:find|rfind|compare|starts_with)\(|\bstrstr\([^;]*what\(\)|==[^;\n]*\bwhat\(\)",
}
ALLOWED = {
    "exporter/python/rushlight/base/torch_messages.py": "PyTorch's errors",
    "js/src/engine/error-hints.js": "an engine's error for a Content-Security-Policy",
    "js/src/engine/engine.js": "the name of an input, which C has only in the message",
}


def main():
    names = subprocess.run(["git", "ls-files", "exporter", "js/src", "js/bin"], cwd=TOP, check=True, capture_output=True, text=True)
    unused, status = set(ALLOWED), 0
    for name in names.stdout.split():
        path = TOP / name
        pattern = TESTS.get(path.suffix)
        if not pattern or not path.is_file():
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not re.search(pattern, line):
                continue
            unused.discard(name)
            if name not in ALLOWED:
                print(f"{name}:{number}: decides by the words of a message: use a code or a field of the error")
                status = 1
    for name in sorted(unused):
        print(f"tests/lint/decisions.py: {name} no longer decides by a message: remove it from ALLOWED")
        status = 1
    if status == 0:
        print("no code decides by the words of a message, outside of the files that say so")
    return status


sys.exit(main())
