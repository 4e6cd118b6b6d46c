"""What is not compared, and PyTorch's own reason: the one table of differences between Rushlight and PyTorch."""

import re

import torch

#: Values that nobody sets: shapes and dtypes are compared.
UNSET = re.compile(r"aten::(new_)?empty|aten::resize_")


#: Dtypes that PyTorch has in few operators, and Rushlight has not.
OTHER_DTYPES = {torch.complex32, torch.uint16, torch.uint32, torch.uint64}

#: Arguments that are constants of the program: the exporter makes another program where they are not.
CONSTANTS = {"aten::scaled_dot_product_attention": {"dropout_p": 0.0, "enable_gqa": False}}

#: Operators without an answer: rows of tests/conformance show the refusal.
ALWAYS_REFUSES = {"prim::RaiseException"}


def is_unset(name):
    return UNSET.match(name) is not None


def variables_of(name):
    """What the variables of a schema (t, tVal) may be."""
    if name in ("aten::tensor", "aten::as_tensor.list"):
        return ("int", "float", "bool")
    if name == "aten::hash.generic":  # a tensor's hash is where it lies
        return ("int", "float", "str", "Tuple[int, str]")
    return ("int", "float", "str", "Tensor", "List[int]", "Tuple[int, str]")


#: (operators, what is left out, why): a function of the arguments by name says whether they are.
LIMITS = []


def left_out(name, values):
    return any(re.match(pattern, name) and is_out(values) for pattern, is_out, _ in LIMITS)


def limit(pattern, why):
    def keep(function):
        LIMITS.append((pattern, function, why))
        return function
    return keep


def tensors(values):
    return [v for v in values.values() if isinstance(v, torch.Tensor)]


def empty(values):
    return any(t.numel() == 0 for t in tensors(values))


def floats(*numbers):
    return [v for v in numbers if isinstance(v, float)]


# ---- Where PyTorch checks less -----------------------------------------------------------------------

@limit(r"aten::(special_)?(log_)?softmax|aten::_(log_)?softmax|aten::(normal|randn|rand|bernoulli|exponential|geometric|cauchy|log_normal|uniform)|aten::cum(prod|sum)|aten::_pad_circular",
       "PyTorch refuses a dtype, or a size, in its kernel, which it does not call for an empty tensor; Rushlight refuses it at once")
def _(values):
    return empty(values)


@limit(r"aten::(randn?|normal)", "the same of a size of 0 that is asked for")
def _(values):
    return 0 in (values.get("size") or [])


@limit(r"aten::mode", "PyTorch does not look at the dtype of a single element")
def _(values):
    return values["self"].is_complex()


@limit(r"aten::_local_scalar_dense", "PyTorch gives the first of several elements; a program's item() refuses them, in PyTorch, too")
def _(values):
    return values["self"].numel() != 1


@limit(r"aten::index_add", "PyTorch does not look at alpha's kind on one of the two ways that its kernel goes (TensorAdvancedIndexing.cpp)")
def _(values):
    return isinstance(values["alpha"], (float, complex)) and not (values["self"].is_floating_point() or values["self"].is_complex())


@limit(r"aten::contiguous", "PyTorch looks at the memory format only where it has to copy")
def _(values):
    return values["memory_format"] == 1


# ---- What PyTorch's own code reads wrongly -----------------------------------------------------------

@limit(r"aten::native_group_norm", "PyTorch reads a strided input or weight as if it were contiguous; group_norm, which calls it, makes it so")
def _(values):
    return not all(t.is_contiguous() for t in tensors(values))


@limit(r"aten::to\.prim_other", "PyTorch takes the False of non_blocking for the dtype uint8 (register_special_ops.cpp); without a copy the exporter drops it")
def _(values):
    return values["self"].dtype != torch.uint8 or not values["copy"] or values["non_blocking"]


@limit(r"aten::to\.prim_dtype", "the same, where the dtype is None")
def _(values):
    return values["dtype"] is None


@limit(r"aten::dot", "Debian's PyTorch takes dot products of complex numbers from a BLAS that leaves them 0")
def _(values):
    return values["self"].is_complex()


@limit(r"aten::_upsample_bi\w+_aa", "PyTorch repeats one value where the result is one pixel wide and its height changes")
def _(values):
    size = values["output_size"]
    x = values.get("self", values.get("input"))
    return (size[-1] if size else int(x.shape[-1] * values["scale_factors"][-1])) == 1


@limit(r"aten::set_\.source_Tensor", "PyTorch leaves the dtype, and reads bytes of another one")
def _(values):
    return values["self"].dtype != values["source"].dtype


@limit(r"aten::(center|ljust|rjust|zfill)", "PyTorch never ends: it counts to the width as an unsigned number")
def _(values):
    return values["width"] < 0


# ---- What has no one answer --------------------------------------------------------------------------

@limit(r"aten::(linalg_)?eig", "the order of eigenvalues is nobody's promise: rows_linalg_factors.py compares what they make")
def _(values):
    matrix = next(iter(values.values()))
    return matrix.shape[-1] > 1


@limit(r"aten::sort\.(float|any)|aten::sorted\.(float|any)", "std::sort has no order for NaN")
def _(values):
    return any(v != v for v in floats(*next(iter(values.values()))))


@limit(r"aten::storage_offset", "a file keeps no offset of a tensor without elements")
def _(values):
    return empty(values)


@limit(r"aten::factorial", "the answer does not fit 64 bits, where C++ promises none")
def _(values):
    return values["a"] > 20


@limit(r"aten::put", "places that are written twice: which write is last is nobody's promise")
def _(values):
    places = values["index"] % max(1, values["self"].numel())
    return not values["accumulate"] and places.unique().numel() != places.numel()


@limit(r"aten::(__)?i?[lr]shift|aten::__i[lr]shift|aten::bitwise_(left|right)_shift", "C++ promises nothing of shifts by less than 0, or by the width and more")
def _(values):
    by = torch.as_tensor(values["other"] if "other" in values else values["b"])
    return by.is_complex() or bool((by < 0).any() or (by >= 8).any())


@limit(r"aten::(var|std)_mean", "PyTorch's mean of infinities is infinite or NaN as they stand first or last (Welford's rule)")
def _(values):
    x = values["self"]
    return x.is_floating_point() and bool(torch.isinf(x).any())


# ---- What Rushlight leaves out -----------------------------------------------------------------------

@limit(r"aten::\w+\.Scalar$|aten::(fmod|mathremainder|copysign|sub|mul|add|div|remainder|floordiv|pow\.Scalar_Scalar|log\.Scalar_Scalar|atan2\.Scalar_Scalar)$",
       "complex numbers that are no tensors have overloads of their own (aten::sinh.complex), which are refused by name")
def _(values):
    return any(isinstance(v, complex) for v in values.values()) and not tensors(values)


@limit(r"aten::(alpha_dropout|feature_alpha_dropout)", "PyTorch rounds to a half after each of several operators, Rushlight once")
def _(values):
    return next(iter(values.values())).dtype in (torch.float16, torch.bfloat16)


@limit(r"aten::(_?convolution|conv\d|conv_transpose)", "convolutions of complex numbers are refused")
def _(values):
    return values["input"].is_complex()


@limit(r"aten::(sub|add|rsub|subtract)_?\.(Tensor|Scalar)", "a complex alpha is refused")
def _(values):
    return isinstance(values["alpha"], complex)


@limit(r"aten::result_type|aten::scatter", "a complex number for a tensor's element is refused")
def _(values):
    return any(isinstance(v, complex) for v in values.values())


@limit(r"aten::normal\.", "means that are complex numbers are refused")
def _(values):
    return any(t.is_complex() for t in tensors(values))


@limit(r"aten::(as_)?tensor(\.list)?$", "a list without items has no type of its own at run time: the tensor is float32")
def _(values):
    return values.get("data") == []
