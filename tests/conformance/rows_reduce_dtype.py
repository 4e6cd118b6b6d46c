"""Reductions and scans with dtype=, for every pair of dtypes that PyTorch supports. The elements are converted first."""
from conformance import *

INTEGERS = ("b8", *SHORTS, *INTS)
REAL = (*HALVES, *FLOATS)
EVERYTHING = (*INTEGERS, *REAL, *COMPLEX)

#: Fractions below one, numbers that float16 rounds, integers that wrap in narrower dtypes. The conversion of a negative
#: or large float to an integer depends on the processor.
_FRACTIONS = [[0.3, 0.5, 2.0, 1.0], [2.7, 3.9, 1.2, 9.63], [0.0, 7.1, 5.55, 100.7]]
_SMALL = [[1, 0, 1, 2], [7, 100, 5, 3], [120, 3, 77, 11]]
_LARGE = [[1, 0, 1, 2], [7, 300, -5, 3], [30000, 3, -777, 11]]
_LARGER = [[1, 0, 1, 2], [7, 300, -5, 3], [70000, 3, -777, 11]]
_INPUTS = {"b8": [[True, False, True, True], [True, True, True, True], [False, False, False, True]], "u8": _SMALL, "i8": _SMALL,
           "i16": _LARGE, "i32": _LARGER, "i64": _LARGER}


def each_dtype(name, body, targets):
    """Adds a row for each dtype of x, with a result for each of `targets(dtype)`. The dtype replaces D in `body`."""
    for dtype in EVERYTHING:
        if targets(dtype):
            results = ", ".join(body.replace("D", str(DTYPES[to])) for to in targets(dtype))
            row(f"{name}_{dtype}", f"[{results}]", x=tensor(_INPUTS.get(dtype, _FRACTIONS), dtype))


def everything(dtype):
    return EVERYTHING


def floating(dtype):
    return (*REAL, *COMPLEX)


def real(dtype):
    return REAL


def numbers(dtype):
    return EVERYTHING[1:]


def without_nan(dtype):
    return EVERYTHING if dtype in INTEGERS else () if dtype in COMPLEX else REAL


def wider(dtype):
    """Returns the dtypes that norms accept: of the same kind, and not narrower."""
    return {"f16": ("f16", "f32", "f64"), "bf16": ("bf16", "f32", "f64"), "f32": FLOATS, "f64": ("f64",), "c64": COMPLEX, "c128": ("c128",)}.get(dtype, ())


each_dtype("sum_to", "torch.sum(x, dtype=D)", everything)
each_dtype("sum_rows_to", "torch.sum(x, 1, dtype=D)", everything)
each_dtype("sum_columns_to", "torch.sum(x[:, ::2], [0], True, dtype=D)", everything)
each_dtype("prod_to", "torch.prod(x, dtype=D)", everything)
each_dtype("prod_rows_to", "torch.prod(x, 1, dtype=D)", everything)
each_dtype("mean_to", "torch.mean(x, dtype=D)", floating)
each_dtype("mean_rows_to", "torch.mean(x, [1], dtype=D)", floating)
each_dtype("nansum_to", "torch.nansum(x, [1], dtype=D)", without_nan)
each_dtype("cumsum_to", "torch.cumsum(x, 1, dtype=D)", numbers)
each_dtype("cumprod_to", "torch.cumprod(x, 0, dtype=D)", numbers)
each_dtype("softmax_to", "torch.softmax(x, 1, dtype=D)", real)
each_dtype("log_softmax_to", "torch.log_softmax(x, 0, dtype=D)", real)
each_dtype("norm_to", "torch.norm(x, 3, [1], False, dtype=D)", wider)
each_dtype("vector_norm_to", "torch.linalg.vector_norm(x, dtype=D)", wider)
each_dtype("matrix_norm_to", "torch.linalg.matrix_norm(x, 1, dtype=D)", wider)

row("prod_to_bool_is_of_truth_values", "torch.prod(x, 1, dtype=torch.bool)", x=tensor([[0.3, 0.5, 2.0], [0.0, 1.0, 1.0]]))
row("nansum_to_bool_of_floats", "torch.nansum(x, dtype=torch.bool)", x=f32(3), raises="nansum")
row("nansum_of_complex", "torch.nansum(x)", x=random("c64", 3), raises="nansum")
row("cumsum_to_bool", "torch.cumsum(x, 0, dtype=torch.bool)", x=f32(3), raises="not implemented for 'Bool'")
row("cumsum_in_place_to_another_dtype", "x.cumsum_(0, dtype=torch.float64)", x=f32(3), raises="should match")
for have, asked in (("f16", "float32"), ("f16", "bfloat16"), ("bf16", "float64"), ("i8", "int32"), ("i16", "int64")):
    row(f"cumsum_in_place_of_{have}_to_{asked}", f"x.cumsum_(0, dtype=torch.{asked})", x=random(have, 3), raises="should match")
row("cumprod_in_place_to_its_own_dtype", "x.cumprod_(0, dtype=torch.float16)", x=random("f16", 5), mutates=True)
row("mean_to_an_integer", "torch.mean(x, dtype=torch.int32)", x=f32(3), raises="could not infer output dtype")
row("norm_to_a_narrower_dtype", "torch.norm(x, 2, dtype=torch.float32)", x=f64(3), raises="without narrowing")
row("norm_of_halves_to_other_halves", "torch.linalg.vector_norm(x, 2, dtype=torch.bfloat16)", x=random("f16", 3), raises="without narrowing")
row("norm_of_integers_to_floats", "torch.linalg.vector_norm(x, 2, dtype=torch.float32)", x=i64(3), raises="floating point or")
row("norm_to_integers", "torch.linalg.vector_norm(x, 2, dtype=torch.int64)", x=f32(3), raises="floating point or")
row("norm_of_reals_to_complex", "torch.linalg.vector_norm(x, 2, dtype=torch.complex64)", x=f32(3), raises="dtype should be real")
