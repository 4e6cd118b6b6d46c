"""One model of a zoo: exported in the first way that goes, run natively, compared, timed. In a process of its own: run.py."""

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

TIMES, LONG = 20, 1.0  # runs that are timed, three at least; no more once they took so many seconds


def reason(error):
    words = " | ".join(s.strip() for s in str(error).splitlines() if s.strip())
    return words[:300] or type(error).__name__


class Refused(Exception):
    """PyTorch itself cannot do it in this way."""


def pytorchs(make):
    """What PyTorch makes of the model. Raises Refused with its words."""
    try:
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
            return make()
    except Exception as error:  # what it raises is of many types
        raise Refused(reason(error)) from error


def export_traced(entry, path):
    try:
        return export(entry, entry.model, path)
    except Exception:  # Rushlight's fault, unless PyTorch's own trace fails, or gives another answer
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
    """(Report, what the file's one test vector, the example, says natively)."""
    args, _ = inputs.positional(model, entry.inputs)
    report = rushlight.export(model, entry.inputs, path, tests=[(args, None)], test_vectors=False, verify=False, source=False)
    replay, = rushlight.load(str(path)).verify()
    return report, replay


def same(came, wanted):
    """Raises where PyTorch's own trace gives something else than the model."""
    came, wanted = entries.tensors_of(came), entries.tensors_of(wanted)
    if [t.shape for t in came] != [t.shape for t in wanted]:
        raise ValueError("the trace gives other shapes than the model")
    for a, b in zip(came, wanted):
        if a.is_floating_point() and not torch.allclose(a, b, 1e-2, 1e-2 * float(b.abs().nan_to_num().max() if b.numel() else 1), equal_nan=True):
            raise ValueError("the trace gives another answer than the model")


def decided_by_rounding(entry):
    """Whether PyTorch's own answer is another in float64: boxes that swap places, chosen tokens."""
    before = entry.answer()
    doubled = lambda t: t.double() if isinstance(t, torch.Tensor) and t.is_floating_point() else t
    try:
        exact = dataclasses.replace(entry, model=copy.deepcopy(entry.model).double(), inputs=pytree.tree_map(doubled, entry.inputs)).answer()
    except Exception:  # it cannot be had
        return False
    try:
        same([t.float() for t in entries.tensors_of(exact)], [t.float() for t in entries.tensors_of(before)])
    except ValueError:
        return True
    return False


def tells(answer):
    """Raises where an answer is one number everywhere, or none: such a model is compared with nothing."""
    if not any(t.numel() for t in entries.tensors_of(answer)):
        raise ValueError("with the zoo's weights the answer is empty")
    floats = [t.float() for t in entries.tensors_of(answer) if t.is_floating_point() and t.numel() > 1]
    if any(not t.isfinite().any() for t in floats):
        raise ValueError("the zoo's weights make PyTorch's answer infinite, or NaN")
    if floats and all(bool((t == t.flatten()[0]).all()) for t in floats):
        raise ValueError("the zoo's weights make PyTorch's answer constant")


def shortest(run):
    """Milliseconds."""
    first, took = time.perf_counter(), []
    while len(took) < 3 or (len(took) < TIMES and time.perf_counter() - first < LONG):
        begin = time.perf_counter()
        run()
        took.append(time.perf_counter() - begin)
    return 1e3 * min(took)


def try_model(zoo, name, path):
    """What came of it as plain data: state "passed", "failed" (Rushlight does not do what PyTorch can), "refused" (PyTorch
    cannot, in no way) or "unmade" (the zoo's own fault: the model does not run)."""
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
