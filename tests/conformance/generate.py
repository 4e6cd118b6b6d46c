#!/usr/bin/env python3
"""Makes build/conformance: a .rush file per row, with the answers of libtorch inside.

    generate.py [PATTERN..]          makes rows whose names contain a pattern (default: all changed rows)
    generate.py --check [PATTERN..]  only runs the rows in PyTorch, without the exporter
    generate.py --list [PATTERN..]   prints the names, and the counts per file
    generate.py --show NAME          prints the source that PyTorch compiles

A row is made again when its text, this folder's code, the exporter or the reference (../reference.py) changes.
"""
import argparse
import contextlib
import copy
import fcntl
import hashlib
import importlib
import io
import json
import linecache
import os
import re
import select
import sys
import time
import types
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]
import reference  # noqa: E402, I001 - before torch
import torch  # noqa: E402
import conformance  # noqa: E402
import one_operator  # noqa: E402

OUT = Path(os.environ.get("RUSH_CONFORMANCE", TOP / "build" / "conformance"))
JOBS = int(os.environ.get("RUSH_JOBS", 2))
MANIFEST = OUT / "manifest.json"

PRELUDE = """import cmath
import math
from collections import OrderedDict
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union
import torch
import torch.nn.functional as F
from torch import Tensor

"""


class Wrong(Exception):
    """An impossible row, which is reported with its name."""


def load_rows():
    owner = {}
    for path in sorted(HERE.glob("rows_*.py")):
        before = set(conformance.ROWS)
        importlib.import_module(path.stem)
        for name in conformance.ROWS.keys() - before:
            owner[name] = path.stem
    return owner


# ---- From a row to a scripted module -------------------------------------------------------------

def source_of(row):
    """Returns Python text with a function `f` and a class M whose forward calls it, or a call of an operator by its own name."""
    if one_operator.is_call(row.body):
        return row.body
    arguments = [k for k, v in row.inputs.items() if not getattr(v, "is_weight", False)]
    weights = [k for k in row.inputs if k not in arguments]
    kinds = {k: row.types.get(k, conformance.type_of(row.inputs[k])) for k in row.inputs}
    typed = lambda names: ", ".join(f"{k}: {kinds[k]}" for k in names)  # noqa: E731
    body = row.body.strip("\n")
    lines = body.split("\n")
    text = PRELUDE
    if re.search(r"^def f\(", body, re.M) or re.search(r"^class M\(", body, re.M):
        text += "\n".join(lines) + "\n"
    else:
        if len(lines) == 1 and not re.search(r"\breturn\b|\braise\b|\bassert\b", body):
            lines = ["return " + body.strip()]
        indent = min(len(s) - len(s.lstrip()) for s in lines if s.strip())
        text += f"def f({typed(row.inputs)}):\n" + "".join(f"    {s[indent:]}\n" for s in lines)
    if re.search(r"^class M\(", body, re.M):
        return text
    call = f"f({', '.join(k if k in arguments else 'self.' + k for k in row.inputs)})"
    result = call if not row.mutates else f"({', '.join([call, *arguments])})"
    text += f"\n\nclass M(torch.nn.Module):\n    def forward(self{', ' if arguments else ''}{typed(arguments)}):\n"
    text += f"        return {result}\n"
    for k in weights:
        if kinds[k] != "Tensor":
            raise Wrong(f"weight {k} is not a tensor")
    return text


def inputs_of(row, case, k):
    """Returns the values of the inputs (arguments, weights) for the row's first case (k = 0) or a further one."""
    g = torch.Generator().manual_seed(row.seed() + k)
    unknown = case.keys() - row.inputs.keys()
    if unknown:
        raise Wrong(f"`also` names inputs that the row does not have: {unknown}")
    made = {}
    for key, value in row.inputs.items():
        if k and getattr(value, "is_weight", False):
            continue
        made[key] = conformance.build(case.get(key, value), g, made)
    weights = {k: v for k, v in made.items() if getattr(row.inputs[k], "is_weight", False)}
    return {k: v for k, v in made.items() if k not in weights}, weights


def compile_operator(row):
    inputs, weights = inputs_of(row, {}, 0)
    if weights:
        raise Wrong("an operator that is called by its own name takes no weights")
    return one_operator.function_of_row(row.body, inputs, conformance.type_of, row.mutates)


def compile_row(row):
    if one_operator.is_call(row.body):
        return compile_operator(row)
    text = source_of(row)
    filename = f"{row.name}.py"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    module = types.ModuleType(f"row_{row.name}")
    sys.modules[module.__name__] = module
    module.__file__ = filename
    try:
        exec(compile(text, filename, "exec"), module.__dict__)
        torch.manual_seed(row.seed())  # a module may draw weights
        net = module.M()
        arguments, weights = inputs_of(row, {}, 0)
        for key, value in weights.items():
            net.register_buffer(key, value)
        net.eval()
        with torch.no_grad():
            if row.trace:
                return torch.jit.trace(net, tuple(copy.deepcopy(list(arguments.values()))), check_trace=False)
            return torch.jit.script(net)
    finally:
        del sys.modules[module.__name__]


# The tolerance for 16-bit floats is a unit in the last place.
TOLERANCES = {torch.bfloat16: (1.6e-2, 1e-5), torch.float16: (1e-3, 1e-5), torch.float32: (1e-5, 1e-6),
              torch.complex64: (1e-5, 1e-6)}


def dtypes_in(value):
    if isinstance(value, torch.Tensor):
        return {value.dtype}
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return set()
    return set().union(*map(dtypes_in, value))


def tolerance(row, values):
    dtypes = dtypes_in(values)
    rtol, atol = next((pair for dtype, pair in TOLERANCES.items() if dtype in dtypes), (1e-7, 1e-9))
    return (rtol if row.rtol is None else row.rtol, atol if row.atol is None else row.atol)


def fresh(net):
    """Copies a module, so that it has its initial state. A function has no state."""
    return copy.deepcopy(net) if isinstance(net, torch.nn.Module) else net


def vectors_of(row, net):
    """Returns [(args, expected, rtol, atol)]. `expected` is None for a row that raises."""
    vectors = []
    buffers = list(net.buffers()) if isinstance(net, torch.nn.Module) else []
    for k, case in enumerate([{}, *row.also]):
        arguments, _ = inputs_of(row, case, k)
        args = tuple(arguments.values())
        given = copy.deepcopy(args)  # keeps strides and aliases
        caught = None
        torch.manual_seed(1)  # the seed of every replay (RUSH_TEST_SEED)
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
            try:
                expected = fresh(net)(*given)
            except Exception as error:
                caught = error
        if row.raises is None and caught:
            raise Wrong(f"PyTorch refuses it: {str(caught).strip().splitlines()[-1]}")
        if row.raises is not None and not caught:
            raise Wrong("PyTorch does not raise")
        if caught:
            vectors.append((args, None, 0.0, 0.0))
        else:
            vectors.append((args, expected, *tolerance(row, (args, expected, buffers))))
    return vectors


# ---- Making files --------------------------------------------------------------------------------

def exporter_key():
    """Returns a key that changes whenever the exporter changes."""
    digest = hashlib.sha256()
    import rushlight
    folder = Path(rushlight.__file__).parent
    libraries = sorted({*folder.glob("*.py"), *folder.glob("*.so*"), *(TOP / "build/native").glob("python/**/*.so"),
                        *(TOP / "build/native").glob("lib/librush*.so")})
    for path in filter(Path.exists, libraries):  # a build may have links to missing files
        digest.update(path.read_bytes())
    return digest.hexdigest()


def code_key():
    return "".join(hashlib.sha256((HERE / name).read_bytes()).hexdigest() for name in ("generate.py", "one_operator.py", "../reference.py"))


def some_value(kind):
    """Returns any value of a TorchScript type."""
    name = kind.kind()
    simple = {"TensorType": torch.zeros(0), "IntType": 0, "FloatType": 0.0, "BoolType": False, "StringType": "",
              "NumberType": 0, "ListType": [], "DictType": {}}
    if name == "TupleType":
        return tuple(map(some_value, kind.elements()))
    return simple.get(name)


def export_row(row, net, vectors):
    import rushlight
    # The replays verify the file, and not the export, so that a row that fails keeps its file.
    # A row that must raise has no answer, so its vector has any value of the type.
    schema = net.schema if isinstance(net, torch.jit.ScriptFunction) else net.forward.schema
    nothing = some_value(schema.returns[0].type) if row.raises is not None else None
    tests = [(args, nothing if row.raises is not None else expected, rtol, atol)
             for args, expected, rtol, atol in vectors]
    rushlight.export(net, path=str(OUT / f"{row.name}.rush"), tests=tests, verify=False, test_vectors=True)


def entry_of(row, owner, key, n_tests):
    entry = {"name": row.name, "file": f"{row.name}.rush", "tests": n_tests, "rows": owner, "key": key}
    if row.raises is not None:
        entry["raises"] = row.raises
    return entry


def make(row, owner, check_only, key):
    net = compile_row(row)
    vectors = vectors_of(row, net)
    if not check_only:
        export_row(row, net, vectors)
    return entry_of(row, owner, key, len(vectors))


def read_manifest():
    return {e["name"]: e for e in json.loads(MANIFEST.read_text())["rows"]} if MANIFEST.exists() else {}


def write_manifest(made):
    """Adds the rows that were made, and removes those that failed (None) or no longer exist. It holds a lock, because
    another generate.py may make other rows."""
    with open(OUT / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = {**read_manifest(), **made}
        for name in [n for n, e in entries.items() if e is None or n not in conformance.ROWS]:
            del entries[name]
            (OUT / f"{name}.rush").unlink(missing_ok=True)
        part = OUT / "manifest.part"
        part.write_text(json.dumps({"rows": [entries[n] for n in sorted(entries)]}, indent=0))
        part.replace(MANIFEST)


def work(todo, owner, check_only, pipe):
    """Makes rows in its own process. It reports each start and each outcome as a line of JSON."""
    def say(*what):
        os.write(pipe, (json.dumps(what) + "\n").encode())
    for r, key in todo:
        say("begin", r.name)
        try:
            say("made", r.name, make(r, owner[r.name], check_only, key))
        except Exception as error:
            lines = [s for s in str(error).splitlines() if s.strip()] or [type(error).__name__]
            say("failed", r.name, " | ".join(lines[:6])[:600])


def make_all(todo, owner, check_only):
    """Returns {name: entry, or None if it failed}. Two processes run at a time, and a crash loses only one row."""
    made, queues, running = {}, [todo[k::JOBS] for k in range(JOBS)], {}

    def failed(name, why):
        made[name] = None
        print(f"FAILED {name} ({owner[name]}): {why}", flush=True)

    def begin(queue):
        out, into = os.pipe()
        sys.stdout.flush()
        if os.fork() == 0:
            os.close(out)
            try:
                work(queue, owner, check_only, into)
            finally:
                os._exit(0)
        os.close(into)
        running[out] = [queue, b"", None]

    for queue in queues:
        if queue:
            begin(queue)
    while running:
        for out in select.select(list(running), [], [])[0]:
            state, bytes_ = running[out], os.read(out, 1 << 16)
            *lines, state[1] = (state[1] + bytes_).split(b"\n")
            for what, name, *rest in map(json.loads, lines):
                state[2] = name if what == "begin" else None
                if what == "made":
                    made[name] = rest[0]
                elif what == "failed":
                    failed(name, rest[0])
            if bytes_:
                continue
            os.close(out)
            queue, _, name = running.pop(out)
            os.wait()
            if name is not None:
                failed(name, "the process that made it crashed")
                rest = queue[[r.name for r, _ in queue].index(name) + 1:]
                if rest:
                    begin(rest)
    return made


def chosen(patterns):
    return [r for r in conformance.ROWS.values() if not patterns or any(p in r.name for p in patterns)]


def say_counts(rows, owner):
    counts = {}
    for r in rows:
        counts[owner[r.name]] = counts.get(owner[r.name], 0) + 1
    for name in sorted(counts):
        print(f"{counts[name]:6d}  {name}")
    print(f"{len(rows):6d}  rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    owner = load_rows()
    rows = chosen(options.patterns)
    if options.list or options.show:
        for r in rows:
            print(f"# {r.name}\n{source_of(r)}" if options.show else r.name)
        say_counts(rows, owner)
        return 0

    OUT.mkdir(parents=True, exist_ok=True)
    old = {} if options.check else read_manifest()
    common = "" if options.check else exporter_key() + code_key() + torch.__version__ + reference.NAME
    start, todo = time.time(), []
    for r in rows:
        key = hashlib.sha256((r.text() + common).encode()).hexdigest()[:16]
        if old.get(r.name, {}).get("key") != key or not (OUT / f"{r.name}.rush").exists():
            todo.append((r, key))
    made = make_all(todo, owner, options.check)
    failed = [name for name, entry in made.items() if entry is None]
    if not options.check:
        write_manifest(made)
    verb = "agree with themselves in PyTorch" if options.check else f"are in {MANIFEST.name}, {len(made)} made now"
    print(f"{len(rows) - len(failed)} of {len(rows)} rows {verb}, {len(failed)} failed, {time.time() - start:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
