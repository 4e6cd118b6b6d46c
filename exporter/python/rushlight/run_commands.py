"""The commands `run` and `bench` of the tool, which need NumPy and no PyTorch."""

import argparse
import json
import os
import statistics
import sys
import time

import numpy

from .base.errors import RushlightError
from .base.printable import printable
from .session import Session

COMMANDS = "run", "bench"
_WORDS = {"True": True, "False": False, "None": None}


def run_command(arguments):
    """Runs a command line that begins with one of COMMANDS. Returns the exit status."""
    options = _parser(arguments[0]).parse_args(arguments[1:])
    try:
        (_run if arguments[0] == "run" else _bench)(options)
    except (RushlightError, ValueError, TypeError, OSError) as error:
        print(f"rushlight: {printable(str(error))}", file=sys.stderr)
        return 1
    return 0


def _parser(command):
    parser = argparse.ArgumentParser(f"rushlight {command}", allow_abbrev=False)
    parser.add_argument("file", metavar="MODEL.rush")
    parser.add_argument("--input", action="append", default=[], metavar="[NAME=]SPEC",
                        help="1x3x224x224[:DTYPE[:LO..HI]] (random numbers), @FILE.npy, 5, 0.5, True or text, in order or by name")
    parser.add_argument("--method", default="forward", help="use another method than forward")
    parser.add_argument("--threads", type=int, default=1, help="the number of threads")
    parser.add_argument("--max-bytes", type=int, default=0, help="limit the memory of the model and its runs")
    parser.add_argument("--max-steps", type=int, default=0, help="limit the instructions of a run, which also ends endless loops")
    parser.add_argument("--json", action="store_true", help="print JSON")
    if command == "run":
        parser.add_argument("--output", metavar="DIR", help="write DIR/NAME.npy for each output that is a tensor")
    else:
        parser.add_argument("--runs", type=int, default=30, help="the number of timed runs")
    return parser


class _ArraySession(Session):
    """A session that gives NumPy arrays, whether PyTorch is installed or not."""

    def _gives_arrays(self, request):
        return True

    def kinds(self, method):
        """Returns the types of the inputs of a method: "Tensor", "int", ..."""
        types = self._method(method)["types"]
        return [(t["items"][0] if t["kind"] == "optional" else t)["kind"] for t in types]


def _session(options):
    return _ArraySession(options.file, threads=options.threads, max_bytes=options.max_bytes, max_steps=options.max_steps)


# ---- Inputs


def _inputs(session, options):
    """Returns the inputs of the method by name."""
    names, types = session.inputs(options.method), session.kinds(options.method)
    given = {}
    for place, text in enumerate(options.input):
        name, equals, spec = text.partition("=")
        if not equals:
            if place >= len(names):
                raise ValueError(f"{options.method} must be given at most {len(names)} inputs, got {len(options.input)}")
            name, spec = names[place], text
        if name not in names:
            raise ValueError(f"there is no input {name!r}; the inputs are {', '.join(names) or 'none'}")
        given[name] = _value(spec, types[names.index(name)])
    return given


def _value(spec, kind):
    if spec.startswith("@"):
        return numpy.load(spec[1:], allow_pickle=False)
    if kind == "str":
        return spec
    if spec in _WORDS:
        return _WORDS[spec]
    if kind in ("int", "float", "bool", "Scalar"):
        return int(spec) if kind == "int" else float(spec)
    return _random(spec)


def _random(spec):
    """Returns random numbers of the sizes, the dtype and the range of "1x3:float32:-1..1"."""
    sizes, dtype, bounds, *rest = [*spec.split(":"), "", ""] if spec.count(":") < 2 else spec.split(":")
    dtype = numpy.dtype(dtype or "float32")
    low, high = (-1.0, 1.0) if dtype.kind in "fc" else (0.0, 2.0)
    if any(rest) or (sizes and not all(size.isdecimal() for size in sizes.split("x"))):
        raise ValueError(f"an input must be SIZES[:DTYPE[:LO..HI]] such as 1x3x224x224, @FILE.npy or a number, got {spec!r}")
    if bounds:
        low, high = map(float, bounds.split(".."))
    shape = [int(size) for size in sizes.split("x") if size]
    numbers = numpy.random.default_rng(0).uniform(low, high, shape)
    return numpy.asarray(numbers if dtype.kind in "fc" else numpy.floor(numbers)).astype(dtype)


# ---- The commands


def _run(options):
    session = _session(options)
    outputs = session.run(_inputs(session, options), options.method)
    if options.output:
        os.makedirs(options.output, exist_ok=True)
        for name, value in outputs.items():
            if isinstance(value, numpy.ndarray):
                numpy.save(os.path.join(options.output, f"{os.path.basename(name)}.npy"), value)
    if options.json:
        print(json.dumps({name: _plain(value) for name, value in outputs.items()}))
        return
    for name, value in outputs.items():
        print(f"{printable(name)}: {_shown(value)}")


def _plain(value):
    if isinstance(value, numpy.ndarray):
        data = value.view(value.real.dtype) if value.dtype.kind == "c" else value  # complex numbers are pairs
        return {"dtype": str(value.dtype), "shape": list(value.shape), "data": data.ravel().tolist()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return [[_plain(key), _plain(item)] for key, item in value.items()]
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _shown(value):
    if isinstance(value, numpy.ndarray):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]\n{numpy.array2string(value, threshold=100)}"
    return printable(repr(value))


def _bench(options):
    if options.runs < 1:
        raise ValueError(f"--runs must be at least 1, got {options.runs}")
    start = time.perf_counter()
    session = _session(options)
    loaded = time.perf_counter() - start
    inputs = _inputs(session, options)
    times = []
    for _ in range(options.runs + 1):  # the first run is not timed: it packs weights
        start = time.perf_counter()
        session.run(inputs, options.method)
        times.append(time.perf_counter() - start)
    del times[0]
    found = {"runs": len(times), "median_ms": statistics.median(times) * 1e3, "min_ms": min(times) * 1e3, "load_ms": loaded * 1e3,
             "threads": options.threads}
    if options.json:
        print(json.dumps(found))
    else:
        print(f"median {found['median_ms']:.3f} ms, fastest {found['min_ms']:.3f} ms of {len(times)} runs; loaded in "
              f"{found['load_ms']:.1f} ms; {options.threads} thread{'s' * (options.threads != 1)}")
