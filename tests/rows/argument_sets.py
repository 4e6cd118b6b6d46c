"""Argument sets that PyTorch accepts, with its answers."""

import contextlib
import copy
import io
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "conformance")]
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
import torchvision  # noqa: E402, F401 - its operators
import limits  # noqa: E402
import one_operator  # noqa: E402
import structured  # noqa: E402
from draw import Draw  # noqa: E402

SETS = 6
ATTEMPTS = 400
ONE_VALUE = {"Optional[Generator]": None, "Device": torch.device("cpu")}  # the only possible values
MAX_RESULTS = 4096  # elements; larger results would show nothing new


class Program:
    """A program that calls one operator with all its arguments."""

    options = {}  # options of its export
    more_vectors = 0  # vectors that the export adds

    def __init__(self, name, seed):
        self.name, self.schema, self.seed = name, one_operator.schema_of(name), seed
        first = Draw(name, seed, "types")
        self.variables = {}
        for a in self.schema.arguments:
            for v in variables_in(a.type):
                self.variables.setdefault(v, one_operator.type_from(first.pick(limits.variables_of(name))))
        self.mutates = any(a.alias_info is not None and a.alias_info.is_write for a in self.schema.arguments)
        self.constants = {a.name: ONE_VALUE[str(a.type)] for a in self.schema.arguments if str(a.type) in ONE_VALUE} | limits.CONSTANTS.get(name, {})
        types = {a.name: one_operator.concrete(a.type, self.variables) for a in self.inputs()}
        arguments = [(a, self.constants[a.name] if a.name in self.constants else one_operator.Name(a.name)) for a in self.schema.arguments]
        self.function = one_operator.function_of(name, arguments, types, self.variables, self.mutates, limits.is_unset(name))

    def inputs(self):
        return [a for a in self.schema.arguments if a.name not in self.constants]

    def draw(self, attempt):
        """Draws arguments. Returns None if limits.py leaves them out."""
        d = Draw(self.name, self.seed, attempt, self.variables)
        values = d.arguments(self.schema, structured.given(self.name, d, self.schema))
        values = {a.name: values[a.name] for a in self.inputs()}
        return None if limits.left_out(self.name, values) else tuple(values.values())

    def answer(self, args):
        torch.manual_seed(1)  # the seed of every replay (RUSH_TEST_SEED)
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.run(copy.deepcopy(args))

    def run(self, args):
        function = copy.deepcopy(self.function) if isinstance(self.function, torch.nn.Module) else self.function
        return function(*args)


def show(args):
    """Formats a value as source on one line. A large tensor is shown by its sizes."""
    return "(" + ", ".join(" ".join(repr(v).split()) if sum(t.numel() for t in tensors_in(v)) <= 40 else
                           f"{type(v).__name__} of {[(str(t.dtype)[6:], *t.shape) for t in tensors_in(v)]}" for v in args) + ")"


def variables_in(type_):
    if type_.kind() == "VarType":
        return [str(type_)]
    return [v for t in type_.containedTypes() for v in variables_in(t)]


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for v in items for t in tensors_in(v)]


def sets_of(program, say, skip=()):
    """Returns [(attempt, args, expected)]. It calls `say(attempt)` first, which identifies an attempt that kills the process.
    The caller passes such attempts in `skip`."""
    found = []
    for attempt in range(ATTEMPTS):
        if attempt in skip:
            continue
        args = program.draw(attempt)
        if args is None:
            continue
        say(attempt)
        try:
            expected = program.answer(args)
        except Exception:  # PyTorch raises many types
            continue
        results = tensors_in(expected)
        if sum(t.numel() for t in results) <= MAX_RESULTS and all(t.dtype not in limits.OTHER_DTYPES for t in results):
            found.append((attempt, args, expected))
        if len(found) == SETS:
            break
    return found
