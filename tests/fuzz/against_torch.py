"""Runs programs of fuzz_run in PyTorch, operator by operator, and compares the answers if both give one.

    ./dev build native fuzz && ./dev shell python3 tests/fuzz/against_torch.py [--programs 2000] [--seed 1]

It compares the dtype, shape and value of the last values of each program in the order of their creation. It leaves out
programs with random or uninitialized values, and programs that change a list, because PyTorch's operators copy lists here.
It prints each program in which a value differs, with the first such operator, and how often each operator agreed. The exit
code shows whether all agreed. --keep DIR keeps the programs that differ.
"""

import argparse
import collections
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tests", "exporter")]
import reader  # noqa: E402

# Random, uninitialized or process-dependent values have no correct answer.
LOOSE = ("rand", "normal", "uniform", "bernoulli", "multinomial", "exponential", "geometric", "cauchy", "dropout", "empty", "resize",
         "random", "poisson", "rrelu", "set_data", "set_", "data_ptr", "manual_seed", "initial_seed", "get_attr", "set_attr", "object",
         "fractional_max_pool", "kaiming", "print", "log_normal", "hash")
ROUNDS = 50
ELEMENTS = 1 << 22


class LeftOut(Exception):
    """The program cannot be compared."""


def to_torch(value):
    if isinstance(value, reader.Tensor):
        if math.prod(value.sizes) > ELEMENTS and 0 not in value.strides:
            raise LeftOut("large")
        return torch.from_numpy(value.data)
    if isinstance(value, list):
        return [to_torch(v) for v in value]
    if isinstance(value, tuple):
        return tuple(to_torch(v) for v in value)
    if isinstance(value, dict):
        return {to_torch(k): to_torch(v) for k, v in value.items()}
    return value


def changes_a_list(schema):
    return any(a.alias_info is not None and a.alias_info.is_write and "Tensor" != str(a.type) for a in schema.arguments)


class Run:
    """Runs the method main of a file in PyTorch."""

    def __init__(self, model):
        self.model = model
        self.method = model.methods["main"]
        self.values, self.made, self.steps = {}, {}, 0

    def value(self, operand):
        kind, v = operand
        return self.values[v] if kind == "r" else to_torch(v)

    def call(self, instr):
        if any(word in instr.op for word in LOOSE):
            raise LeftOut(instr.op)
        args = [self.value(i) for i in instr.inputs]
        if instr.op in ("prim::ListConstruct", "prim::TupleConstruct"):
            return (list if "List" in instr.op else tuple)(args),
        name, _, overload = instr.op.partition(".")
        schema = torch._C._get_schema(name, overload)
        if changes_a_list(schema):
            raise LeftOut(instr.op)
        op, *_ = torch._C._get_operation_overload(name, overload)
        result = op(*args)
        if len(instr.outputs) == 1:
            result = result,
        for t in result:
            if isinstance(t, torch.Tensor) and t.numel() > ELEMENTS:
                raise LeftOut("large")
        return result if len(instr.outputs) else ()

    def store(self, instr, registers, results):
        for register, value in zip(registers, results):
            self.values[register] = value
            self.made[register] = instr.op or instr.opcode

    def run(self):
        instrs, at, loops = self.method["instrs"], 0, {}
        first = self.method["first"]
        while True:
            instr = instrs[at]
            self.steps += 1
            if self.steps > 500:
                raise LeftOut("long")
            values = [self.value(i) for i in instr.inputs] if instr.opcode != "OP" else None
            if instr.opcode == "OP":
                self.store(instr, instr.outputs, self.call(instr))
            elif instr.opcode == "IF":
                if not values[0]:
                    at = instr.target - first
            elif instr.opcode == "ELSE":  # the end of the first branch
                end = instrs[instr.target - first]
                self.store(instrs[end.target - first], instrs[end.target - first].outputs, values)
                at = instr.target - first
            elif instr.opcode == "END_IF":
                opener = instrs[instr.target - first]
                self.store(opener, opener.outputs, values)
            elif instr.opcode in ("LOOP", "END_LOOP"):
                opener = instr if instr.opcode == "LOOP" else instrs[instr.target - first]
                where = at if instr.opcode == "LOOP" else instr.target - first
                n = len(opener.inputs) - 2
                if instr.opcode == "LOOP":
                    loops[where] = (0, min(values[0], ROUNDS + 1))
                    go, carried = values[1], values[2:]
                else:
                    loops[where] = (loops[where][0] + 1, loops[where][1])
                    go, carried = values[0], values[1:]
                done, most = loops[where]
                if done > ROUNDS:
                    raise LeftOut("long")
                if go and done < most:
                    self.store(opener, opener.outputs[n:], [done, *carried])
                    at = where
                else:
                    self.store(opener, opener.outputs[:n], carried)
                    at = opener.target - first
            else:
                last = [i for i in instrs if i.opcode == "OP"][-1]
                return [(self.made.get(v, "constant"), self.values[v]) for _, v in reversed(last.inputs)]
            at += 1


def differs(a, b):
    """Returns why two values differ, or None."""
    if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
        return f"{b!r} is not {a!r}"
    if isinstance(a, torch.Tensor):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"{b.dtype}{list(b.shape)} is not {a.dtype}{list(a.shape)}"
        if a.dtype.is_floating_point:
            tolerance = 1e-3 if a.dtype == torch.float32 else 1e-6
            if torch.allclose(a, b, tolerance, tolerance, equal_nan=True):
                return None
        elif torch.equal(a, b):
            return None
        return f"{b.flatten()[:8].tolist()} is not {a.flatten()[:8].tolist()}"
    if isinstance(a, float) and isinstance(b, float):
        same = a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-4 * max(1, abs(a))
        return None if same else f"{b!r} is not {a!r}"
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return f"{len(b)} items are not {len(a)}"
        return next((why for why in map(differs, a, b) if why), None)
    if isinstance(a, dict) and isinstance(b, dict):
        return differs(list(a.items()), list(b.items()))
    return None if type(a) is type(b) and a == b else f"{b!r} is not {a!r}"


def compare(path):
    """Returns (outcome, operators that agreed, text to print)."""
    import rushlight

    with open(path, "rb") as f:
        data = bytearray(f.read())
    try:
        want = Run(reader.Model(data)).run()
    except LeftOut as e:
        return "left out", [], str(e)
    except Exception as e:  # noqa: BLE001
        return "refused by PyTorch", [], str(e).splitlines()[0] if str(e) else ""
    try:
        got = list(reversed(rushlight.load(path).call("main")))
    except rushlight.RushlightError as e:
        return "refused by Rushlight", [op for op, _ in want], str(e)
    agreed = []
    for (op, a), b in zip(want, got):
        why = differs(a, b)
        if why:
            return "differs", agreed, f"{op}: {why}"
        agreed.append(op)
    return "agrees", agreed, ""


def work(paths, pipe):
    torch.set_num_threads(1)
    for path in paths:
        pipe.send(("begin", path))
        pipe.send((path, compare(path)))
    pipe.close()


def compare_all(paths):
    """Yields (path, outcome). A crash, usually in PyTorch, loses only one program."""
    while paths:
        mine, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=work, args=(paths, theirs))
        process.start()
        theirs.close()
        begun = None
        try:
            while True:
                what, value = mine.recv()
                if what == "begin":
                    begun = value
                else:
                    yield what, value
                    begun = None
        except EOFError:
            process.join()
        if begun is None:
            return
        yield begun, ("died", [], f"exit code {process.exitcode}")
        paths = paths[paths.index(begun) + 1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for the programs that differ")
    parser.add_argument("--refused", action="store_true", help="print what only Rushlight refuses, too")
    args = parser.parse_args()
    counts, ops = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(TOP, "build", "fuzz", "bin", "fuzz_run"), "--random", str(args.programs), str(args.seed), folder], check=True)
        paths = [os.path.join(folder, f"{i}.rush") for i in range(args.programs)]
        for path, (outcome, agreed, text) in compare_all(paths):
            counts[outcome] += 1
            ops.update(agreed if outcome in ("agrees", "differs") else ())
            if outcome == "differs" or outcome == "died" or (args.refused and outcome == "refused by Rushlight"):
                print(f"{os.path.basename(path)} {outcome}: {text}", flush=True)
                if args.keep:
                    os.makedirs(args.keep, exist_ok=True)
                    with open(path, "rb") as source, open(os.path.join(args.keep, f"{args.seed}-{os.path.basename(path)}"), "wb") as out:
                        out.write(source.read())
    print(dict(counts))
    print(f"{len(ops)} operators agreed at least once")
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
