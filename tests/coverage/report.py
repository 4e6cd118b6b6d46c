"""Prints how much of each file the tests ran, and checks it against floors.txt.

    report.py [--raise] [--files] [--missed FILE]..

build/coverage holds c.json (llvm-cov), report-js/coverage-final.json (c8) and python.json (coverage.py). `--files` prints every
file instead of folders, `--missed` the lines and branches of a file that never ran, and `--raise` raises floors to the measured values.
"""

import argparse
import json
import pathlib
import re
import sys
from dataclasses import dataclass, field

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build/coverage"
FLOORS = TOP / "tests/coverage/floors.txt"
# A floor is this many points, and this many lines or branches, below the measured value. The order of threads varies between runs, and a
# change may add a line that no test can reach on every processor.
SLACK, SLACK_ITEMS = 2, 3
# Not counted: native programs have no bridge, and the stage gpu tests most of the code for GPUs.
WASM_ONLY = ("wasm/bridge/", "wasm/src/gpu/")


@dataclass
class Count:
    hit: int = 0
    of: int = 0

    def __add__(self, other):
        return Count(self.hit + other.hit, self.of + other.of)

    @property
    def percent(self):
        return 100.0 * self.hit / self.of if self.of else 100.0


@dataclass
class File:
    path: str
    lines: Count
    branches: Count
    missed_lines: list = field(default_factory=list)
    missed_branches: list = field(default_factory=list)


def c_files():
    """Reads the figures of llvm-cov. The expansion of a macro counts at each use."""
    data = json.loads((BUILD / "c.json").read_text())["data"][0]
    missed = {}
    for function in data["functions"]:
        for where, sides in missed_branches(function).items():
            before = missed.setdefault(function["filenames"][0], {}).setdefault(where, sides)
            missed[function["filenames"][0]][where] = before & sides  # for a function in several programs or headers
    for f in data["files"]:
        path = pathlib.Path(f["filename"]).relative_to(TOP).as_posix()
        lines, branches = f["summary"]["lines"], f["summary"]["branches"]
        sides = [(line, column, side) for (line, column, *_), found in missed.get(f["filename"], {}).items() for side in sorted(found)]
        yield File(path, Count(lines["covered"], lines["count"]), Count(branches["covered"], branches["count"]),
                   unreached(f["segments"]), sides)


def missed_branches(function):
    """Returns {(line, column, place in the macro): sides that were never taken}. A branch is [line, column, end line, end column,
    times true, times false, file, ..]. File 0 is the function's own. Others are macros, which regions of kind 1 expand."""
    uses = {r[6]: r for r in function["regions"] if r[7] == 1}
    found = {}
    for b in function["branches"]:
        at, inside = b, []
        while at[5 if at is not b else 6] in uses:
            inside.append(tuple(at[:2]))
            at = uses[at[5 if at is not b else 6]]
        sides = {side for side, n in (("true", b[4]), ("false", b[5])) if n == 0}
        if sides:
            found[(at[0], at[1], *inside)] = sides
    return found


def unreached(segments):
    """Returns the lines in segments [line, column, count, has count, ..] with count 0."""
    found = set()
    for here, after in zip(segments, segments[1:]):
        if here[3] and here[2] == 0:
            found.update(range(here[0], after[0] + (after[1] > 1)))
    return sorted(found)


def js_files():
    """Reads Istanbul's format: statements (lines in c8) and branches, and how often each ran."""
    file = BUILD / "report-js/coverage-final.json"
    if not file.exists():
        return
    for path, f in json.loads(file.read_text()).items():
        lines = [(f["statementMap"][k]["start"]["line"], n) for k, n in f["s"].items()]
        branches = [(f["branchMap"][k]["loc"]["start"], n) for k, ways in f["b"].items() for n in ways]
        yield File(pathlib.Path(path).relative_to(TOP).as_posix(),
                   Count(sum(n > 0 for _, n in lines), len(lines)), Count(sum(n > 0 for _, n in branches), len(branches)),
                   [line for line, n in lines if n == 0],
                   [(at["line"], at["column"] + 1, "") for at, n in branches if n == 0])


def python_files():
    file = BUILD / "python.json"
    if not file.exists():
        return
    for path, f in json.loads(file.read_text())["files"].items():
        s = f["summary"]
        yield File(pathlib.Path(TOP, path).relative_to(TOP).as_posix(),
                   Count(s["covered_lines"], s["num_statements"]), Count(s["covered_branches"], s["num_branches"]),
                   f["missing_lines"], [(line, 0, f"to {to}") for line, to in f["missing_branches"]])


GROUPS = {"C": c_files, "JavaScript": js_files, "Python": python_files}


def features():
    """Returns the processor's features in the words of /proc/cpuinfo."""
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return set(found[1].split()) if found else set()


def is_absent(needs, has):
    """Returns whether this processor lacks one of the features `needs`, or has one that a `!` excludes."""
    return any((need.lstrip("!") in has) == need.startswith("!") for need in needs)


def read_floors():
    """Reads {file or group: (lines, branches, features that it needs)}."""
    floors = {}
    for line in FLOORS.read_text().splitlines():
        if line and not line.startswith("#"):
            lines, branches, name, *needs = line.split()
            floors[name] = (int(lines), int(branches), needs)
    return floors


def write_floors(floors, measured):
    head = [line for line in FLOORS.read_text().splitlines() if line.startswith("#")]
    for f in measured:
        if not f.lines.of:
            continue
        lines, branches, needs = floors.get(f.path, (0, 0, []))
        floors[f.path] = (max(lines, floor_of(f.lines)), max(branches, floor_of(f.branches)), needs)
    rows = [f"{lines:3} {branches:3}  {name}{''.join(' ' + n for n in needs)}"
            for name, (lines, branches, needs) in sorted(floors.items(), key=lambda row: (row[0] not in GROUPS, row[0]))]
    FLOORS.write_text("\n".join([*head, *rows, ""]))


def floor_of(count):
    least = min(count.percent - SLACK, 100.0 * (count.hit - SLACK_ITEMS) / count.of) if count.of else 0
    return max(0, int(least))


def below(name, lines, branches, floor):
    for what, count, least in (("lines", lines, floor[0]), ("branches", branches, floor[1])):
        if count.percent < least:
            yield f"{name}: {count.percent:.1f} % of {what} ran ({count.hit} of {count.of}), and its floor is {least} %"


def total(files):
    return sum((f.lines for f in files), Count()), sum((f.branches for f in files), Count())


def row(name, lines, branches, floor):
    least = f"{floor[0]:4} {floor[1]:4}" if floor else ""
    print(f"{name:48} {lines.hit:6} of {lines.of:6} {lines.percent:6.1f} % {branches.hit:6} of {branches.of:6} {branches.percent:6.1f} %  {least}")


def table(groups, floors, every):
    print(f"{'':48} {'lines that ran':>23} {'branches taken':>25}    floors")
    for group, files in groups.items():
        folders = {}
        for f in files:
            folders.setdefault(f.path if every else str(pathlib.PurePosixPath(f.path).parent), []).append(f)
        for name, inside in sorted(folders.items()):
            row(name, *total(inside), floors.get(name))
        row(f"{group}, all of it", *total(files), floors.get(group))


def show_missed(f):
    """Prints the lines that never ran, and the conditions that were never true or never false, with their text."""
    text = (TOP / f.path).read_text().splitlines()
    print(f"{f.path}: {f.lines.percent:.1f} % of lines, {f.branches.percent:.1f} % of branches")
    notes = {line: ["never ran"] for line in f.missed_lines}
    for line, column, side in f.missed_branches:
        notes.setdefault(line, []).append(f"{column}: never {side}" if column and side else side or f"{column}: never taken")
    for line, said in sorted(notes.items()):
        print(f"{line:5} {text[line - 1] if line <= len(text) else '':100} // {'; '.join(said)}")


def complaints(groups, floors, here):
    for group, files in groups.items():
        if not files:
            print(f"{group} was not counted: run the stages js, exporter, python and text with this one")
            continue
        yield from below(group, *total(files), floors[group])
        for f in files:
            if f.path in floors:
                yield from below(f.path, f.lines, f.branches, floors[f.path])
            elif group == "C" and f.lines.of:
                yield f"{f.path} has no floor: ./dev test coverage -- --raise writes one"
    measured = {f.path for files in groups.values() for f in files}
    for path in sorted(p.relative_to(TOP).as_posix() for p in (TOP / "wasm").rglob("*.c")):
        if path not in measured and path not in here and not path.startswith(WASM_ONLY) and has_code(path):
            yield f"{path} is in no program that ran"
    for path in floors:
        if path not in GROUPS and not (TOP / path).exists():
            yield f"{path} has a floor and does not exist"


def has_code(path):
    """Returns whether a file has a function that is compiled natively. A file of tables has no code to count."""
    text = re.sub(r"^#if (defined\()?__wasm.*?^#(else|endif)", "", (TOP / path).read_text(), flags=re.M | re.S)
    return re.search(r"^\w[^;=#]*\)\s*\{", text, re.M) is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raise", dest="lift", action="store_true")
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--missed", action="append", default=[], metavar="FILE")
    options = parser.parse_args()
    floors, has = read_floors(), features()
    absent = {name for name, (_, _, needs) in floors.items() if is_absent(needs, has)}
    groups = {group: [f for f in files() if f.path not in absent] for group, files in GROUPS.items()}
    measured = [f for files in groups.values() for f in files]
    if options.lift:
        write_floors(floors, measured)
        floors = read_floors()
    table(groups, floors, options.files)
    for f in measured:
        if any(name in f.path for name in options.missed):
            show_missed(f)
    wrong = list(complaints(groups, floors, absent))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
