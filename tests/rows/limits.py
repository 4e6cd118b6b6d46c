"""The table of differences between Rushlight and PyTorch: results that are not compared, and PyTorch's reason for each."""

import math
import re

import torch

#: Operators with uninitialized results. Only shapes and dtypes are compared.
UNSET = re.compile(r"aten::(new_)?empty|aten::resize_")


#: Dtypes that few operators of PyTorch support, and Rushlight does not support.
OTHER_DTYPES = {torch.complex32, torch.uint16, torch.uint32, torch.uint64}

#: Arguments that must be constants of the program. If they vary, the exporter makes another program.
CONSTANTS = {"aten::scaled_dot_product_attention": {"dropout_p": 0.0, "enable_gqa": False}}

#: Operators that always raise. Rows of tests/conformance show the refusal.
ALWAYS_REFUSES = {"prim::RaiseException"}


def is_unset(name):
    return UNSET.match(name) is not None


def variables_of(name):
    """Returns types for the variables of a schema (t, tVal)."""
    if name in ("aten::tensor", "aten::as_tensor.list"):
        return ("int", "float", "bool")
    if name == "aten::hash.generic":  # a tensor's hash is its address
        return ("int", "float", "str", "Tuple[int, str]")
    return ("int", "float", "str", "Tensor", "List[int]", "Tuple[int, str]")


#: (operators, which arguments are left out, why). A function of the arguments by name decides whether they are left out.
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

@limit(r"aten::(special_)?(log_)?softmax|aten::_(log_)?softmax|aten::(normal|randn|rand|bernoulli|exponential|geometric|cauchy|log_normal|uniform)|aten::cum(prod|sum)|aten::_pad_circular|aten::nansum",
       "PyTorch refuses a dtype, or a size, in its kernel, which it does not call for an empty tensor; Rushlight refuses it at once")
def _(values):
    return empty(values)


@limit(r"aten::(randn?|normal)", "the same of a size of 0 that is asked for")
def _(values):
    return 0 in (values.get("size") or [])


@limit(r"aten::(mode|cummax|cummin|m?sort|argsort|topk|kthvalue|(nan)?median|arg(max|min))",
       "PyTorch looks at the dtype in its kernel, which it does not call for a single element, a dimension of size 1 or an empty tensor")
def _(values):
    return any(t.is_complex() or t.dtype == torch.bool and t.numel() == 0 for t in tensors(values))


@limit(r"aten::(topk|kthvalue)", "the same of bool")
def _(values):
    return any(t.dtype == torch.bool for t in tensors(values))


@limit(r"aten::cum(prod|sum)_?", "the same of a tensor without dimensions")
def _(values):
    return values["self"].dim() == 0 and (values["self"].dtype == torch.bool or values["dtype"] == 11)


@limit(r"aten::_local_scalar_dense", "PyTorch gives the first of several elements; a program's item() refuses them, in PyTorch, too")
def _(values):
    return values["self"].numel() != 1


@limit(r"aten::index_add", "PyTorch does not look at alpha's kind on one of the two ways that its kernel goes (TensorAdvancedIndexing.cpp)")
def _(values):
    return isinstance(values["alpha"], (float, complex)) and not (values["self"].is_floating_point() or values["self"].is_complex())


@limit(r"aten::contiguous", "PyTorch looks at the memory format only where it has to copy")
def _(values):
    return values["memory_format"] == 1


# ---- Faults in PyTorch's own code --------------------------------------------------------------------

@limit(r"aten::native_group_norm", "PyTorch reads a strided input or weight as if it were contiguous; group_norm, which calls it, makes it so")
def _(values):
    return not all(t.is_contiguous() for t in tensors(values))


@limit(r"aten::to\.prim_other", "PyTorch takes the False of non_blocking for the dtype uint8 (register_special_ops.cpp); without a copy the exporter drops it")
def _(values):
    return values["self"].dtype != torch.uint8 or not values["copy"] or values["non_blocking"]


@limit(r"aten::to\.prim_(dtype|Device)", "the same, where the dtype is None")
def _(values):
    return values["dtype"] is None


@limit(r"aten::(dot|vdot|inner|(linalg_)?matmul)$", "Debian's PyTorch takes dot products of complex numbers from a BLAS that leaves them 0")
def _(values):
    return all(t.is_complex() and t.dim() == 1 for t in tensors(values))


@limit(r"aten::addmv", "PyTorch gives self's shape to the product of a matrix without elements, and warns that it will no longer resize the result")
def _(values):
    return values["mat"].numel() == 0 and values["self"].dim() == 0


@limit(r"aten::(eq|ne)$", "PyTorch compares two complex numbers as integers that both are 0")
def _(values):
    return any(isinstance(v, complex) for v in values.values())


@limit(r"aten::(_pad_circular|pad$)", "where negative padding leaves less than is to be repeated, PyTorch repeats what it has not set yet")
def _(values):
    if values.get("mode", "circular") != "circular":
        return False
    x, pad = values["self"], values["pad"]
    left = [x.shape[-1 - k] + min(0, a) + min(0, b) for k, (a, b) in enumerate(zip(pad[::2], pad[1::2]))]
    return any(max(a, b) > n for n, a, b in zip(left, pad[::2], pad[1::2]))


@limit(r"aten::celu", "PyTorch's rule for 0 beside an infinite alpha is another one where the tensor is strided")
def _(values):
    return values["alpha"] in (math.inf, -math.inf) and not values["self"].is_contiguous()


def is_one_wide(values):
    x, size = values.get("self", values.get("input")), values["output_size"]
    return (size[-1] if size else int(x.shape[-1] * values["scale_factors"][-1])) == 1


@limit(r"aten::_upsample_bi\w+_aa", "PyTorch repeats one value where the result is one pixel wide and its height changes")
def _(values):
    return is_one_wide(values)


@limit(r"aten::upsample_bi\w+", "the same of uint8")
def _(values):
    return values.get("self", values.get("input")).dtype == torch.uint8 and is_one_wide(values)


@limit(r"aten::set_\.source_Tensor", "PyTorch leaves the dtype, and reads bytes of another one")
def _(values):
    return values["self"].dtype != values["source"].dtype


@limit(r"aten::(center|ljust|rjust|zfill)", "PyTorch never ends: it counts to the width as an unsigned number")
def _(values):
    return values["width"] < 0


# ---- Ambiguous answers -------------------------------------------------------------------------------

@limit(r"aten::(linalg_)?eig", "the order of eigenvalues is nobody's promise: rows_linalg_factors.py compares what they make")
def _(values):
    matrix = next(iter(values.values()))
    return matrix.shape[-1] > 1


@limit(r"aten::sort\.(float|any)|aten::sorted\.(float|any)", "std::sort has no order for NaN")
def _(values):
    return any(v != v for v in floats(*next(iter(values.values()))))


@limit(r"aten::storage_offset", "a file keeps of an input's memory what the input reaches: programs of tests/conformance slice it themselves")
def _(values):
    return values["self"].storage_offset() != 0


@limit(r"aten::isin\.", "assume_unique says that no element occurs twice; PyTorch promises nothing where one does")
def _(values):
    return values["assume_unique"] and any(len(set(t.flatten().tolist())) != t.numel() for t in tensors(values))


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


# ---- Unsupported in Rushlight -----------------------------------------------------------------------

@limit(r"(aten|prim)::\w+\.Scalar$|aten::(fmod|mathremainder|copysign|sub|mul|add|div|remainder|floordiv|pow\.Scalar_Scalar|log\.Scalar_Scalar|atan2\.Scalar_Scalar)$",
       "complex numbers that are not tensors have overloads of their own (aten::sinh.complex), which are refused by name")
def _(values):
    return any(isinstance(v, complex) for v in values.values()) and not tensors(values)


@limit(r"aten::(alpha_dropout|feature_alpha_dropout)", "PyTorch rounds to a half after each of several operators, Rushlight once")
def _(values):
    return next(iter(values.values())).dtype in (torch.float16, torch.bfloat16)


@limit(r"aten::(_?convolution|conv\d|conv_transpose)", "convolutions of complex numbers are refused")
def _(values):
    return values["input"].is_complex()
