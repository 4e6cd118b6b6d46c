"""Checks that no line of C in wasm/ and tests/ and of headers in exporter/src exceeds the limit of .clang-format, including
comments and tables, that no comment ends on a separate line, and that no function in wasm/ is too long. clang-format changes
none of these."""
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
FILES = ("wasm/*.[ch]", "tests/*.[ch]", "exporter/src/*.h")
EXEMPT = {f"exporter/src/{name}.h" for name in ("run/compare", "run/observe", "write/storages")}
LONGEST = 40  # lines of a function, from its head to its last brace
TABLE = re.compile(r"typedef\b|struct\b|union\b|enum\b|extern\b|[^(]*\{|.*= \{", re.S)
LIMIT = int(re.search(r"^ColumnLimit: (\d+)$", (TOP / ".clang-format").read_text(), re.M)[1])


def faults(lines):
    for number, line in enumerate(lines, 1):
        if len(line) > LIMIT:
            yield number, f"{len(line)} columns, at most {LIMIT}"
        if line.strip() == "*/":
            yield number, "the end of a comment stands alone"


def long_functions(lines):
    """Yields the first line of each function that is too long."""
    head, start = [], 0
    for number, line in enumerate(lines, 1):
        if start:
            if line == "}" and number - start >= LONGEST and not TABLE.match("\n".join(head)):
                yield start, f"a function of {number - start + 1} lines, at most {LONGEST}"
            if line.startswith("}"):
                head, start = [], 0
        elif not line or line[0] in "#/" or line.endswith((";", "*/")):
            head = []
        else:
            head.append(line)
            start = number - len(head) + 1 if line.endswith("{") else 0


def main():
    assert [n for n, _ in faults(["x" * LIMIT, "x" * (LIMIT + 1), " */", "/* x */"])] == [2, 3]
    body = ["  x;"] * (LONGEST - 3)
    assert not [*long_functions(["void f(int a,", "       int b) {", *body, "}"])]
    assert [n for n, _ in long_functions(["int x;", "", "void f(int a,", "       int b) {", *body, "  x;", "}"])] == [3]
    assert not [*long_functions(["static const int x[] = {", *body, *body, "}"])]
    files = set(subprocess.check_output(["git", "ls-files", *FILES], cwd=TOP, text=True).split()) - EXEMPT
    found = []
    for name in sorted(files):
        lines = (TOP / name).read_text().splitlines()
        found += [f"{name}:{n}: {fault}" for n, fault in faults(lines)]
        if name.startswith("wasm/"):
            found += [f"{name}:{n}: {fault}" for n, fault in long_functions(lines)]
    print("\n".join(found) or f"no line of C has more than {LIMIT} columns, and no function in wasm/ more than {LONGEST} lines")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
