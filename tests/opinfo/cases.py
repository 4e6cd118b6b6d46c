"""Makes programs to export and vectors to replay from PyTorch's operator table (OpInfo)."""

import copy
import random
import sys
import warnings
import zlib
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
from torch.testing._internal import common_methods_invocations as table  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

# Entries that are out of scope for running a model: {why: prefixes of names, or suffixes after "*"}.
OUT_OF_SCOPE = {"gradients": ("*_backward", "*_backward_data"), "sparse layouts": ("sparse.", "to_sparse"), "complex32": ("chalf",)}
OTHER_DTYPES = {"complex32", "uint16", "uint32", "uint64"}  # few operators of PyTorch support them
# Samples of these entries are views of larger storages, and the bytes around them matter. The program takes the storages.
OF_STORAGES = {"as_strided.partial_views"}
# Entries with such samples only if these are strided.
STRIDED_OF_STORAGES = {"as_strided_scatter"}
# Entries with uninitialized results. Only shapes and dtypes are compared.
UNDEFINED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_"}


def of_svd(u, s, vh):
    n = s.size(-1)
    return s, (u[..., :n] * s.unsqueeze(-2)) @ vh[..., :n, :], u.mH @ u, vh @ vh.mH


def of_eigenvalues(values):
    """Sorts the eigenvalues, so that their order does not matter."""
    return tuple(torch.sort(part, -1)[0] for part in (values.real, values.imag, values.abs()))


def of_eig(values, v):
    return *of_eigenvalues(values), torch.linalg.solve(v, v * values.unsqueeze(-2), left=False), v.abs().square().sum(-2)


# Factorizations in which signs or order are arbitrary. The product of the factors is compared.
FREE = {"linalg.eig": of_eig, "linalg.eigvals": of_eigenvalues, "linalg.svd": of_svd, "svd": lambda u, s, v: of_svd(u, s, v.mH),
        "linalg.eigh": lambda values, v: (values, (v * values.unsqueeze(-2)) @ v.mH, v.mH @ v)}
SEED = 1  # the seed of each replay (RUSH_TEST_SEED)
# The table seeds random operators in Python, which a trace does not record.
table.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)


# Debian's PyTorch uses a BLAS whose complex dot products are always 0.
if torch.dot(torch.ones(1, dtype=torch.complex64), torch.ones(1, dtype=torch.complex64)) == 0:
    dots = torch.library.Library("aten", "IMPL")
    dots.impl("dot", lambda x, y: torch.mv(x.unsqueeze(0), y).squeeze(0), "CPU")
    dots.impl("vdot", lambda x, y: torch.mv(x.conj().unsqueeze(0), y).squeeze(0), "CPU")


def name_of(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


def why_out(name):
    for why, patterns in OUT_OF_SCOPE.items():
        if any(name.endswith(p[1:]) if p[0] == "*" else name.startswith(p) for p in patterns):
            return why
    return None


def entries():
    """Returns {name: OpInfo} for the entries that run on the CPU and are in scope."""
    return {name_of(op): op for op in table.op_db if op.supported_dtypes("cpu") and not why_out(name_of(op))}


def dtypes_of(op):
    return sorted({str(d)[6:] for d in op.supported_dtypes("cpu")} - OTHER_DTYPES)


class Case:
    """A function of tensors, its arguments, and PyTorch's answer."""

    def __init__(self, what, function, args, shared=None, script=None):
        self.what, self.function, self.args = what, function, args
        self.shared = shared  # the case whose program this one shares, if possible
        self.script = script  # replaces a trace
        self.only_shapes = False
        self.expected = answer(function, args)
        if any(str(t.dtype)[6:] in OTHER_DTYPES for t in tensors_of(self.expected)):
            raise TypeError("its result is of a dtype that is out of scope")

    def shapes_only(self):
        """Returns the case with zeros as results, so that only shapes and dtypes are compared."""
        function = self.function

        def only(*args):
            return pytree.tree_map(torch.zeros_like, function(*args))

        case = Case(f"{self.what}, shapes only", only, self.args)
        case.only_shapes = True
        return case

    def made(self, make):
        """Returns the case with `make` applied to the results."""
        function = self.function
        return Case(self.what, lambda *args: make(*(r if isinstance(r := function(*args), tuple) else (r,))), self.args, self.shared)

    def is_random(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = answer(self.function, self.args, SEED + 1)
        return not all(torch.equal(a.nan_to_num() if a.is_floating_point() else a, b.nan_to_num() if b.is_floating_point() else b)
                       for a, b in zip(tensors_of(self.expected), tensors_of(other)))


def tensors_of(value):
    return [v for v in pytree.tree_leaves(value) if isinstance(v, torch.Tensor)]


def answer(function, args, seed=SEED):
    torch.manual_seed(seed)
    random.seed(seed)
    with torch.no_grad():
        return function(*copy.deepcopy(args))


def flat(result):
    """Flattens a result to a form that a trace can return: a tensor, or a tuple of tensors."""
    if isinstance(result, torch.Tensor):
        return result
    leaves = tensors_of(result)
    if not leaves or any(isinstance(v, (int, float, complex, bool)) for v in pytree.tree_leaves(result)):
        raise TypeError("no tensors")
    return tuple(leaves)


def call_of(function, leaves, spec, at, first=0, out=0):
    """Returns a function of the sample's tensors. The first `out` arguments are the tensors for out=."""

    def call(*args):
        values = list(leaves)
        for i, t in zip(at, args[out:]):
            values[i] = t
        given, more, keys = pytree.tree_unflatten(values, spec)
        if out:
            keys = {**keys, "out": args[0] if out == 1 else tuple(args[:out])}
        return flat(function(given, *more, **keys))

    return call


def need_same(case, plain):
    """Returns the case if PyTorch gives the answer of `plain`, except for rounding. PyTorch does not write to every out=."""
    for a, b in zip(tensors_of(case.expected), tensors_of(plain.expected)):
        if not (torch.allclose(a, b, 1e-2, equal_nan=True) if a.is_floating_point() or a.is_complex() else torch.equal(a, b)):
            raise ValueError("PyTorch gives another answer with out=")
    return case


def of_storages(function, tensors):
    """Returns `function` as a function of the storages of its tensors."""
    lie = [(t.size(), t.stride(), t.storage_offset()) for t in tensors]

    def call(*storages):
        return function(*(torch.as_strided(s, *how) for s, how in zip(storages, lie)))

    return call, tuple(torch.as_strided(t, (t.untyped_storage().nbytes() // t.itemsize,), (1,), 0) for t in tensors)


def strided_of(sample):
    other = sample.noncontiguous()
    return tuple(v.detach() for v in tensors_of((other.input, other.args, other.kwargs)))


def is_torchs(op):
    return getattr(torch, getattr(op.op, "__name__", ""), None) is op.op


def must_be_scripted(op, sample, at):
    """Returns whether a trace cannot show the call, because all arguments or all results are numbers."""
    if not is_torchs(op):
        return False
    if not at:
        return True
    try:
        with torch.no_grad():
            result = op.op(*copy.deepcopy((sample.input, *sample.args)), **copy.deepcopy(sample.kwargs))
    except Exception:  # PyTorch's message is then part of the case
        return False
    return not tensors_of(result)


LITERALS = {torch.strided: "torch.strided", torch.preserve_format: "torch.preserve_format",
            torch.contiguous_format: "torch.contiguous_format", torch.channels_last: "torch.channels_last"}


def script_case(what, op, sample):
    """Makes a TorchScript call of a torch function. Numbers are arguments, too."""
    names, args = [], []

    def text(value):
        if value is None or isinstance(value, (str, bool)):
            return repr(value)
        if isinstance(value, torch.dtype):
            return str(value)
        if isinstance(value, torch.device):
            return f"torch.device('{value}')"
        if isinstance(value, (torch.layout, torch.memory_format)):
            return LITERALS[value]
        kind = {torch.Tensor: "Tensor", int: "int", float: "float"}.get(type(value))
        if isinstance(value, (list, tuple)) and all(type(v) is int for v in value):
            kind, value = "List[int]", list(value)
        if kind is None:
            raise TypeError(f"a {type(value).__name__} is nothing for TorchScript")
        names.append(f"a{len(names)}: {kind}")
        args.append(value)
        return f"a{len(names) - 1}"

    given = [text(v) for v in (sample.input, *sample.args)]
    keys = [f"{k}={text(v)}" for k, v in sample.kwargs.items() if k not in ("device", "requires_grad")]
    call = f"torch.{op.op.__name__}({', '.join(given + keys)})"
    if op.name in UNDEFINED:
        call = f"torch.zeros_like({call})"
    source = f"def f({', '.join(names)}):\n    return {call}\n"
    function = torch.jit.CompilationUnit(source).f
    return Case(what, function, tuple(args), script=function)


def cases_of(op, dtype):
    """Returns the cases, and {why: the number of samples that PyTorch refuses}."""
    torch.manual_seed(zlib.crc32(name_of(op).encode()))
    random.seed(1)
    found, refused = [], {}

    def add(make):
        try:
            found.append(make())
            return found[-1]
        except Exception as error:  # PyTorch raises many types
            words = str(error).strip().splitlines() or [type(error).__name__]
            refused[words[0][:100]] = refused.get(words[0][:100], 0) + 1
            return None

    make = FREE.get(name_of(op))
    as_is = Case.shapes_only if op.name in UNDEFINED else (lambda case: case.made(make)) if make else (lambda case: case)
    for n, sample in enumerate(op.sample_inputs_func(op, "cpu", getattr(torch, dtype), False)):
        leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        at = [i for i, v in enumerate(leaves) if isinstance(v, torch.Tensor)]
        if any(leaves[i].layout != torch.strided for i in at):
            continue  # out of scope
        tensors = tuple(leaves[i].detach() for i in at)
        rest = [None if i in at else v for i, v in enumerate(leaves)]
        plain = call_of(op.op, rest, spec, at)
        if name_of(op) in OF_STORAGES:
            add(lambda: Case(f"sample {n}", *of_storages(plain, tensors)))
            continue
        if must_be_scripted(op, sample, at):
            try:
                found.append(script_case(f"sample {n}, scripted", op, sample))
                continue
            except Exception:
                if at:
                    refused["TorchScript has no such call"] = refused.get("TorchScript has no such call", 0) + 1
                    continue
        case = add(lambda: as_is(Case(f"sample {n}", plain, tensors)))
        if case is None or not at:
            continue
        others = strided_of(sample)
        if any(a.stride() != b.stride() for a, b in zip(tensors, others)):
            if name_of(op) in STRIDED_OF_STORAGES:
                add(lambda: Case(f"sample {n}, strided", *of_storages(plain, others)))
            else:
                add(lambda: as_is(Case(f"sample {n}, strided", plain, others, case)))
        if op.inplace_variant and not sample.broadcasts_input and isinstance(sample.input, torch.Tensor):
            in_place = call_of(op.inplace_variant, rest, spec, at)
            add(lambda: as_is(Case(f"sample {n}, in place", in_place, tensors)))
        if op.supports_out:
            outs = answer(plain, tensors) if make else case.expected
            outs = outs if isinstance(outs, tuple) else (outs,)
            into = call_of(op.op, rest, spec, at, out=len(outs))
            add(lambda: need_same(as_is(Case(f"sample {n}, out=", into, (*map(torch.zeros_like, outs), *tensors))), case))
    return found, refused
