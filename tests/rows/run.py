#!/usr/bin/env python3
"""Runs every row of ops.def with drawn arguments, and compares Rushlight with PyTorch, natively and in Node.

    run.py                 runs all rows with seed 1
    run.py --seed 7        runs all rows with another seed
    run.py -k conv -k pad  runs rows whose names contain one of these words

The files (build/rows/SEED) are made again when the exporter, the code of the tests or the seed changes. A row that differs is
made again every time.
"""
import argparse
import fcntl
import hashlib
import json
import os
import select
import subprocess
import sys
import time
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "conformance")]
import argument_sets  # noqa: E402, I001 - reference, before torch
import limits  # noqa: E402
import composed_programs  # noqa: E402
import one_operator  # noqa: E402
import table  # noqa: E402
import torch  # noqa: E402
from generate import TOLERANCES, dtypes_in, exporter_key  # noqa: E402

JOBS = int(os.environ.get("RUSH_JOBS", 2))
MAX_ENDS = 20  # argument sets of a row that may crash PyTorch's process
LIMIT = 60  # seconds without output after which a process is killed


def names_of(rows):
    """Returns the operators: each row, and its in-place form if PyTorch has one."""
    names = [name for r in rows for name in (r.name, r.in_place) if name == r.name or name and one_operator.has_schema(name)]
    return [name for name in names if name not in limits.ALWAYS_REFUSES]


def file_of(name):
    return name.replace("::", "-") + ".rush"


def tolerance(*values):
    dtypes = dtypes_in(values)
    return next((pair for dtype, pair in TOLERANCES.items() if dtype in dtypes), (1e-7, 1e-9))


# ---- Making a file -------------------------------------------------------------------------------

def export(program, path, sets, verify=False):
    import rushlight
    tests = [(args, expected, *tolerance(args, expected)) for _, args, expected in sets]
    if verify:  # the file has float64's answer, which all runtimes compare with (wasm/include/rushlight/verdict.h)
        tests = [(args, expected) for _, args, expected in sets]
    return rushlight.export(program.function, path=str(path), tests=tests, **{"verify": verify, "source": False, **program.options})


def reason(error):
    return " | ".join(s.strip() for s in str(error).splitlines() if s.strip())[:400] or type(error).__name__


def differences(path, n):
    """Returns {number of the argument set: why it differs} for the first n vectors, natively. The example of an ExportedProgram
    comes after them."""
    import rushlight
    session, found = rushlight.load(str(path)), {}
    for i in range(n):
        session.reset()
        try:
            session._call("verify", test=i)
        except Exception as error:
            found[i] = reason(error)
    return found


def as_near(program, path, one):
    """Returns whether the answer is as close to the program's float64 answer as PyTorch's is."""
    try:
        export(program, path, [one], verify=True)
        return True
    except Exception:
        return False
    finally:
        path.unlink(missing_ok=True)


def make(name, seed, folder, say, skip, exact):
    """Makes the row's file and returns its manifest entry. With `exact` the file has float64's answers, which a row needs if
    it differs natively."""
    program = composed_programs.program(name, seed) or argument_sets.Program(name, seed)
    sets = argument_sets.sets_of(program, say, skip)
    path = folder / file_of(name)
    if not sets:
        return {"name": name, "file": path.name, "tests": 0, "differs": ["PyTorch took none of the arguments that were drawn"]}
    say("export")
    report = export(program, path, sets)
    entry = {"name": name, "file": path.name, "tests": len(sets) + program.more_vectors, "differs": []}
    if name.encode() + b"\0" not in path.read_bytes():
        entry["differs"].append(f"the exporter makes {', '.join(report.ops)} of it")
    say("run")
    differ = differences(path, len(sets))
    found = {i: why for i, why in differ.items() if not as_near(program, path.with_suffix(".one"), sets[i])}
    entry["differs"] += [f"{why} for {argument_sets.show(sets[i][1])}" for i, why in found.items()]
    if (differ or exact) and not found:
        export(program, path, sets, verify=True)
    if len(sets) < argument_sets.SETS:
        entry["differs"].append(f"PyTorch took {len(sets)} of the argument sets that were drawn, {argument_sets.SETS} are wanted")
    return entry


# ---- Making files in processes---------------------------------------------------------------------

def work(names, seed, folder, exact, skips, pipe):
    """Makes files in its own process. It reports each start and each outcome as a line of JSON."""
    def say(*what):
        os.write(pipe, (json.dumps(what) + "\n").encode())
    warnings.simplefilter("ignore")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    for name in names:
        try:
            say("made", name, make(name, seed, folder, lambda at, name=name: say("at", name, at), skips.get(name, ()), exact))
        except Exception as error:
            say("made", name, {"name": name, "file": file_of(name), "tests": 0, "differs": [reason(error)]})


class Makers:
    """Runs processes that make files. If PyTorch crashes one, it restarts after the argument set that crashed it."""

    def __init__(self, seed, folder, exact=False):
        self.seed, self.folder, self.exact = seed, folder, exact
        self.entries, self.skips, self.running = {}, {}, {}

    def begin(self, names):
        out, into = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.close(out)
            try:
                work(names, self.seed, self.folder, self.exact, self.skips, into)
            finally:
                os._exit(0)
        os.close(into)
        self.running[out] = {"child": child, "names": names, "rest": b"", "at": None, "since": time.time()}

    def ended(self, out):
        state = self.running.pop(out)
        os.close(out)
        os.waitpid(state["child"], 0)
        left = [n for n in state["names"] if n not in self.entries]
        if left:
            name, at = state["at"] or (left[0], "its beginning")
            skips = self.skips.setdefault(name, set())
            if isinstance(at, int) and len(skips) < MAX_ENDS:  # PyTorch's process crashed, so another set is drawn
                skips.add(at)
            else:
                self.entries[name] = {"name": name, "file": file_of(name), "tests": 0, "differs": [f"the process ended at: {at}"]}
                left.remove(name)
        if left:
            self.begin(left)

    def read(self, out):
        state, data = self.running[out], os.read(out, 1 << 16)
        if not data:
            self.ended(out)
            return
        *lines, state["rest"] = (state["rest"] + data).split(b"\n")
        for what, name, value in map(json.loads, lines):
            state["since"] = time.time()
            state["at"] = (name, value) if what == "at" else None
            if what == "made":
                self.entries[name] = value

    def run(self, names):
        for k in range(JOBS):
            if names[k::JOBS]:
                self.begin(names[k::JOBS])
        while self.running:
            for out in select.select(list(self.running), [], [], 1)[0]:
                self.read(out)
            for state in self.running.values():
                if time.time() - state["since"] > LIMIT:
                    os.kill(state["child"], 9)
        return self.entries


# ---- The stage -----------------------------------------------------------------------------------

def key_now(seed):
    digest = hashlib.sha256((exporter_key() + torch.__version__ + argument_sets.reference.NAME + str(seed)).encode())
    for path in [*sorted(HERE.glob("*.py")), HERE.parent / "conformance/one_operator.py"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def make_all(names, seed, folder):
    """Returns the rows of the manifest. Files in `names` are made if they are missing or out of date, or differ."""
    manifest, key = folder / "manifest.json", key_now(seed)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        old = json.loads(manifest.read_text()) if manifest.exists() else {"key": "", "rows": []}
        entries = {e["name"]: e for e in old["rows"]} if old["key"] == key else {}
        todo = [n for n in names if n not in entries or entries[n]["differs"] or not (folder / entries[n]["file"]).exists()]
        entries |= Makers(seed, folder).run(todo)
        part = folder / "manifest.part"
        part.write_text(json.dumps({"key": key, "rows": sorted(entries.values(), key=lambda e: e["name"])}, indent=0))
        part.replace(manifest)
    print(f"{len(names)} programs of operators, {len(todo)} made now", flush=True)
    return {n: entries[n] for n in names}


def replay(entries, folder):
    """Returns {name: why it differs} for the rows that differ in Node."""
    chosen = folder / "chosen.json"
    chosen.write_text(json.dumps({"rows": [e for e in entries.values() if e["tests"] and not e["differs"]]}))
    ran = subprocess.run(["node", str(HERE / "node.mjs"), str(chosen)], capture_output=True, text=True, cwd=TOP)
    if ran.returncode:
        raise SystemExit(f"Node ended with {ran.returncode}: {ran.stderr[-2000:]}")
    return {row["file"]: row["message"] for row in json.loads(ran.stdout.splitlines()[-1])["failed"]}


def chosen(options):
    names = names_of(table.rows())
    if options.k:
        return [n for n in names if any(k in n for k in options.k)]
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-k", action="append")
    options = parser.parse_args()
    folder, start = Path(os.environ.get("RUSH_ROWS", TOP / "build/rows")) / str(options.seed), time.time()
    entries = make_all(chosen(options), options.seed, folder)
    made, in_node = time.time(), replay(entries, folder)
    again = [name for name, entry in entries.items() if entry["file"] in in_node]
    if again:  # also compared with float64's answers
        entries |= Makers(options.seed, folder, exact=True).run(again)
        in_node = replay({name: entries[name] for name in again}, folder)
    bad = 0
    for name, entry in entries.items():
        whys = entry["differs"] + ([f"in Node: {in_node[entry['file']]}"] if entry["file"] in in_node else [])
        bad += bool(whys)
        for why in whys:
            print(f"{name}: {why}")
    print(f"{len(entries) - bad} of {len(entries)} programs, {sum(e['tests'] for e in entries.values())} argument sets, agree with PyTorch "
          f"(seed {options.seed}; {made - start:.0f} s natively, {time.time() - made:.0f} s in Node)", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
