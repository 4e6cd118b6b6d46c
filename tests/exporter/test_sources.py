"""Rules about the files of wasm/src: rows, names, and functions without a caller. tests/lint/imports.py checks imports."""
import re
from collections import Counter
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
SRC = TOP / "wasm" / "src"
OPS = SRC / "ops"
SOURCES = sorted(p for p in SRC.rglob("*") if p.suffix in (".c", ".h"))


def includes(text):
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M)


def read(paths):
    return [(p.relative_to(SRC).as_posix(), p.read_text()) for p in paths]


def test_no_two_files_have_one_name():
    names = Counter(p.name for p in SOURCES)
    assert [name for name, n in names.items() if n > 1] == []


def test_an_operator_uses_no_other():
    for path, text in read(p for p in SOURCES if p.is_relative_to(OPS)):
        if path != "ops/table.c":
            assert not [i for i in includes(text) if i.startswith("ops/")], path
            assert not re.search(r"^extern\b|^rush_status rush_op_\w+\(rush_call \*c\);", text, re.M), path


def test_only_the_bridge_knows_emscripten():
    assert [str(p) for p in SOURCES if re.search(r"#\s*include\s*<emscripten|EMSCRIPTEN", p.read_text())] == []


def test_every_family_has_its_list_and_its_rows():
    families = {p.name for p in OPS.iterdir() if p.is_dir()}
    listed = re.findall(r'#include "ops/(\w+)/(\w+)\.def"', (OPS / "ops.def").read_text())
    assert {a for a, b in listed if a == b} == families and len(listed) == len(families)
    for family in families:
        # Rows of one file stand together, below its name.
        named = re.findall(r"^/\* (\w+\.c) \*/$", (OPS / family / f"{family}.def").read_text(), re.M)
        assert sorted(named) == sorted(p.name for p in (OPS / family).glob("*.c")), family
        assert list((TOP / "tests" / "conformance").glob(f"rows_{family}*.py")), f"no rows of {family}"


FUNCTION = {".h": re.compile(r"^\w[\w ]*[ *]+(\w+)\(", re.M), ".c": re.compile(r"^\w[\w ]*[ *]+(\w+)\([^;{]*\{", re.M)}


def idle(sources, users):
    """Functions of headers that nobody calls: declared in one file, perhaps defined in a second, named in no third."""
    words = {path: Counter(re.findall(r"\w+", text)) for path, text in [*sources, *users]}
    pasted = {p for _, text in sources for p in re.findall(r"(\w+_)##\w+(?:##(\w+))?", text)}
    functions = {path: set(FUNCTION[path[-2:]].findall(text)) for path, text in sources}
    unused = []
    for path in sorted(p for p in functions if p.endswith(".h")):
        for name in sorted(functions[path]):
            named = {p for p, count in words.items() if name in count and not (p.endswith(".c") and name in functions.get(p, ()))}
            by_macro = any(name.startswith(front) and name.endswith(back) for front, back in pasted)
            if named == {path} and words[path][name] == 1 and not by_macro:
                unused.append(name)
    return unused


def test_what_a_header_declares_somebody_else_calls():
    folders = [TOP / "wasm" / "bridge", TOP / "exporter", TOP / "tests" / "c", TOP / "tests" / "fuzz"]
    users = [(str(p), p.read_text()) for f in folders for p in sorted(f.rglob("*")) if p.suffix in (".c", ".h", ".cpp")]
    assert idle(read(SOURCES), users) == []


def test_a_function_that_nobody_calls_is_seen():
    header = ("base/a.h", "void rush_a(int x);\nvoid rush_b(void);\nstatic inline int rush_c(void) {\n  return 1;\n}\n")
    body = ("base/a.c", "void rush_a(int x) {}\nvoid rush_b(void) {\n  rush_a(1);\n}\n")
    user = ("base/u.c", "int main(void) { rush_b(); }\n")
    assert idle([header, body, user], []) == ["rush_a", "rush_c"]
