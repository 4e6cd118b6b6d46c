"""Exports one model of a zoo in the first way that works, runs it natively, compares and times it. run.py starts a process
for each model."""

import contextlib
import copy
import dataclasses
import io
import sys
import time
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]
import entry as entries  # noqa: E402, I001 - reference, before torch
import torch  # noqa: E402
import rushlight  # noqa: E402
from rushlight.front import inputs  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

TIMES, LONG = 20, 1.0  # the number of timed runs, at least three, and the seconds after which no further run starts


def reason(error):
    words = " | ".join(s.strip() for s in str(error).splitlines() if s.strip())
    return words[:300] or type(error).__name__


class Refused(Exception):
    """PyTorch itself fails in this way of export."""


def pytorchs(make):
    """Returns PyTorch's capture of the model. Raises Refused with PyTorch's message."""
    try:
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
            return make()
    except Exception as error:  # PyTorch raises many types
        raise Refused(reason(error)) from error


def export_traced(entry, path):
    try:
        return export(entry, entry.model, path)
    except Exception:  # the fault is Rushlight's, unless PyTorch's own trace fails or gives another answer
        args, named = entry.arguments()
        given = {"example_kwarg_inputs": named} if named else {"example_inputs": args}
        traced = pytorchs(lambda: torch.jit.trace(entry.model, **given, check_trace=False, strict=False))
        pytorchs(lambda: same(entry.answer(traced), entry.answer()))
        raise


def export_program(entry, path):
    args, named = entry.arguments()
    program = pytorchs(lambda: torch.export.export(entry.model, args, named, strict=False))
    return export(entry, program, path)


def export_scripted(entry, path):
    scripted = pytorchs(lambda: torch.jit.script(entry.model))
    pytorchs(lambda: entry.answer(scripted))
    return export(entry, scripted, path)


WAYS = {"traced": export_traced, "torch.export": export_program, "scripted": export_scripted}


def export(entry, model, path):
    """Returns (Report, the native result of the example, which is the file's only test vector)."""
    args, _ = inputs.positional(model, entry.inputs)
    report = rushlight.export(model, entry.inputs, path, tests=[(args, None)], test_vectors=False, verify=False, source=False)
    replay, = rushlight.load(str(path)).verify()
    return report, replay


def same(came, wanted):
    """Raises if PyTorch's own trace and the model give different answers."""
    came, wanted = entries.tensors_of(came), entries.tensors_of(wanted)
    if [t.shape for t in came] != [t.shape for t in wanted]:
        raise ValueError("the trace gives other shapes than the model")
    for a, b in zip(came, wanted):
        if a.is_floating_point() and not torch.allclose(a, b, 1e-2, 1e-2 * float(b.abs().nan_to_num().max() if b.numel() else 1), equal_nan=True):
            raise ValueError("the trace gives another answer than the model")


def decided_by_rounding(entry):
    """Returns whether PyTorch's own answer changes in float64, as with swapped boxes or other tokens."""
    before = entry.answer()
    doubled = lambda t: t.double() if isinstance(t, torch.Tensor) and t.is_floating_point() else t
    try:
        exact = dataclasses.replace(entry, model=copy.deepcopy(entry.model).double(), inputs=pytree.tree_map(doubled, entry.inputs)).answer()
    except Exception:  # float64 is not supported
        return False
    try:
        same([t.float() for t in entries.tensors_of(exact)], [t.float() for t in entries.tensors_of(before)])
    except ValueError:
        return True
    return False


def tells(answer):
    """Raises if an answer is constant or empty, because the comparison would then show nothing."""
    if not any(t.numel() for t in entries.tensors_of(answer)):
        raise ValueError("with the zoo's weights the answer is empty")
    floats = [t.float() for t in entries.tensors_of(answer) if t.is_floating_point() and t.numel() > 1]
    if any(not t.isfinite().any() for t in floats):
        raise ValueError("the zoo's weights make PyTorch's answer infinite, or NaN")
    if floats and all(bool((t == t.flatten()[0]).all()) for t in floats):
        raise ValueError("the zoo's weights make PyTorch's answer constant")


def shortest(run):
    """Returns the shortest time in milliseconds."""
    first, took = time.perf_counter(), []
    while len(took) < 3 or (len(took) < TIMES and time.perf_counter() - first < LONG):
        begin = time.perf_counter()
        run()
        took.append(time.perf_counter() - begin)
    return 1e3 * min(took)


def try_model(zoo, name, path):
    """Returns the outcome as plain data. The state is "passed", "failed" (PyTorch can, and Rushlight cannot), "refused" (PyTorch
    cannot, in any way) or "unmade" (the model does not run, which is the zoo's own fault)."""
    torch.manual_seed(zlib.crc32(name.encode()))
    try:
        entry = entries.settled(zoo.make(name))
        tells(entry.answer())
    except Exception as error:
        return {"state": "unmade", "why": reason(error)}
    whys, refused = {}, {}
    for way in entry.ways:
        begin = time.perf_counter()
        try:
            report, replay = WAYS[way](entry, path)
            seconds = time.perf_counter() - begin
            return {"state": "passed", "way": way, "seconds": seconds, "ops": sum(report.ops.values()), "kinds": len(report.ops),
                    "bytes": report.file_bytes, "whys": whys, "refused": refused,
                    "max_abs": replay.max_abs, "own": replay.rushlight["max"], "pytorch": replay.pytorch["max"], **times(entry, path)}
        except Refused as error:
            refused[way] = str(error)
        except Exception as error:
            whys[way] = reason(error)
    if whys and decided_by_rounding(entry):
        return {"state": "unmade", "why": "with the zoo's weights rounding decides PyTorch's own answer, which is another in float64"}
    if whys:
        way, why = next(iter(whys.items()))
        return {"state": "failed", "why": f"{way}: {why}", "whys": whys, "refused": refused}
    way, why = next(iter(refused.items()))
    return {"state": "refused", "why": f"{way}: {why}", "refused": refused}


def times(entry, path):
    session, (args, named) = rushlight.load(str(path)), entry.arguments()
    return {"ms": shortest(lambda: session(*args, **named)), "torch_ms": shortest(entry.answer)}
