"""The functions that rows_*.py use: row(), grid() and inputs. README.md shows how.

An input is a plain value (None, int, float, bool, str, list, tuple, dict) or an `Input`, a recipe
for a tensor. The repr of a recipe is complete, so a changed row has a changed text. Recipes
draw their numbers from a generator that is seeded with the row's name.
"""
import itertools
import zlib

import torch

DTYPES = {"f32": torch.float32, "f64": torch.float64, "i64": torch.int64, "i32": torch.int32,
          "u8": torch.uint8, "b8": torch.bool}
ALL = tuple(DTYPES)
FLOATS, INTS = ("f32", "f64"), ("i64", "i32", "u8")
SHORTS, HALVES, COMPLEX = ("i8", "i16"), ("f16", "bf16"), ("c64", "c128")
DTYPES |= {"i8": torch.int8, "i16": torch.int16, "f16": torch.float16, "bf16": torch.bfloat16,
           "c64": torch.complex64, "c128": torch.complex128}
NAN, INF, MAX = float("nan"), float("inf"), torch.finfo(torch.float32).max


# ---- Inputs --------------------------------------------------------------------------------------

class Input:
    """A recipe. `make(generator, inputs)` returns the tensor; `inputs` holds the inputs that were made before it."""
    is_weight = False

    def __init__(self, text, make):
        self.text, self.make = text, make

    def __repr__(self):
        return self.text


def random(dtype, *shape, lo=None, hi=None):
    """Draws floats (normal, or uniform in [lo, hi)) or integers (in [lo, hi], by default -9 to 9; u8: 0 to 20)."""
    def make(g, _):
        if dtype == "b8":
            return torch.randint(0, 2, shape, generator=g).bool()
        if dtype in INTS + SHORTS:
            least = (0 if dtype == "u8" else -9) if lo is None else lo
            most = (20 if dtype == "u8" else 9) if hi is None else hi
            return torch.randint(least, most + 1, shape, generator=g).to(DTYPES[dtype])
        wide = torch.complex128 if dtype in COMPLEX else torch.float64
        x = torch.randn(shape, generator=g, dtype=wide)
        if lo is not None or hi is not None:
            x = torch.rand(shape, generator=g, dtype=wide) * (hi - lo) + lo
        return x.to(DTYPES[dtype])
    limits = "" if lo is None and hi is None else f", lo={lo}, hi={hi}"
    return Input(f"random({dtype!r}, {', '.join(map(str, shape))}{limits})", make)


def f32(*shape, **limits): return random("f32", *shape, **limits)
def f64(*shape, **limits): return random("f64", *shape, **limits)
def i64(*shape, **limits): return random("i64", *shape, **limits)
def i32(*shape, **limits): return random("i32", *shape, **limits)
def u8(*shape, **limits): return random("u8", *shape, **limits)
def b8(*shape): return random("b8", *shape)


def tensor(values, dtype="f32"):
    """Returns a recipe for exactly these numbers."""
    return Input(f"tensor({values!r}, {dtype!r})", lambda g, _: torch.tensor(values, dtype=DTYPES[dtype]))


def special(*shape, dtype="f32", without=()):
    """Draws normal numbers and adds NaN, infinities, zeros of both signs, denormals and extremes. `without`
    names the magnitudes that are left out."""
    def make(g, _):
        x = torch.randn(shape, generator=g, dtype=torch.float64).to(DTYPES[dtype])
        limits = torch.finfo(DTYPES[dtype])
        odd = [NAN, INF, -INF, 0.0, -0.0, limits.smallest_normal / 4, -limits.smallest_normal / 4,
               limits.max, limits.min, limits.tiny, 1.0, -1.0, 0.5, -0.5]
        odd = [v for v in odd if abs(v) not in without]
        flat = x.view(-1)
        for k, at in enumerate(torch.randperm(flat.numel(), generator=g)[:len(odd)].tolist()):
            flat[at] = odd[k]
        return x
    return Input(f"special({', '.join(map(str, shape))}, dtype={dtype!r}{f', without={without}' * bool(without)})", make)


def nonfinite(*shape):
    """Draws normal numbers and adds NaN, infinities and zeros of both signs. It leaves out the greatest floats, because the
    order of summation decides whether their sums overflow."""
    def make(g, _):
        x = torch.randn(shape, generator=g)
        at = torch.randperm(x.numel(), generator=g)
        for k, v in enumerate((NAN, INF, -INF, 0.0, -0.0)):
            x.view(-1)[at[k]] = v
        return x
    return Input(f"nonfinite({', '.join(map(str, shape))})", make)


def perm(n, dtype="i64"):
    """Returns a recipe for a permutation of 0 to n-1."""
    return Input(f"perm({n}, {dtype!r})", lambda g, _: torch.randperm(n, generator=g).to(DTYPES[dtype]))


def _of(name, base, make):
    return Input(f"{name}({base!r})", lambda g, made: make(base.make(g, made)))


def noncontig(base):
    """Stores `base` in every second element of a buffer that is twice as wide, from element 1 on."""
    def make(x):
        if x.dim() == 0:
            return torch.stack([x, x])[1]
        wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1] + 1, dtype=x.dtype)
        view = wide[..., 1::2]
        view.copy_(x)
        return view
    return _of("noncontig", base, make)


def transposed(base):
    """Keeps the sizes of `base` and swaps the strides of its last two dimensions."""
    def make(x):
        return x if x.dim() < 2 else x.transpose(-1, -2).contiguous().transpose(-1, -2)
    return _of("transposed", base, make)


def permuted(base, *dims):
    """Returns base.permute(dims), a view."""
    return Input(f"permuted({base!r}, {dims})", lambda g, made: base.make(g, made).permute(dims))


def channels_last(base):
    """Stores a tensor of rank 3, 4 or 5 with the channels innermost."""
    def make(x):
        order = [0, *range(2, x.dim()), 1]
        back = [0, x.dim() - 1, *range(1, x.dim() - 1)]
        return x.permute(order).contiguous().permute(back)
    return _of("channels_last", base, make)


def expanded(base, *shape):
    """Returns base.expand(shape), which has strides of 0."""
    return Input(f"expanded({base!r}, {shape})", lambda g, made: base.make(g, made).expand(shape))


def of(expression):
    """Makes an input from other inputs of the row. For example, of("x[1:]") is an alias of x."""
    def make(g, made):
        return eval(expression, {"torch": torch}, dict(made))  # noqa: S307 - our own rows
    return Input(f"of({expression!r})", make)


def weight(base):
    """Makes a constant of the model. The body can use its name, but it is not an argument."""
    it = Input(f"weight({base!r})", base.make)
    it.is_weight = True
    return it


def build(value, generator, made):
    """Returns the value of an input. Lists, tuples and dicts may hold recipes."""
    if isinstance(value, Input):
        return value.make(generator, made)
    if isinstance(value, list):
        return [build(v, generator, made) for v in value]
    if isinstance(value, tuple):
        return tuple(build(v, generator, made) for v in value)
    if isinstance(value, dict):
        return {k: build(v, generator, made) for k, v in value.items()}
    return value


def type_of(value):
    """Returns the TorchScript type of an input."""
    if isinstance(value, (Input, torch.Tensor)):
        return "Tensor"
    if value is None:
        return "Optional[Tensor]"
    if isinstance(value, (bool, int, float, complex, str)):
        return type(value).__name__
    if isinstance(value, list):
        return f"List[{type_of(value[0]) if value else 'Tensor'}]"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(type_of, value))}]"
    if isinstance(value, dict):
        key, item = next(iter(value.items()), ("", torch.zeros(0)))
        return f"Dict[{type_of(key)}, {type_of(item)}]"
    raise TypeError(f"an input cannot be {value!r}")


# ---- Rows ----------------------------------------------------------------------------------------

class Row:
    def __init__(self, name, body, inputs, options):
        self.name, self.body, self.inputs = name, body, inputs
        self.rtol, self.atol = options.pop("rtol", None), options.pop("atol", None)
        self.raises = options.pop("raises", None)
        self.mutates = options.pop("mutates", False)
        self.types = options.pop("types", {})
        self.trace = options.pop("trace", False)
        self.also = options.pop("also", [])
        assert not options, f"{name}: no such options: {options}"

    def text(self):
        """Returns the complete text of the row. Two rows with the same text have the same answer."""
        return repr((self.name, self.body, self.inputs, self.rtol, self.atol, self.raises, self.mutates,
                     self.types, self.trace, self.also))

    def seed(self):
        return zlib.crc32(self.name.encode())


ROWS = {}


def row(name, body, *, rtol=None, atol=None, why="", raises=None, mutates=False, types=None, trace=False,
        also=(), **inputs):
    """Adds a row; see README.md. `why` gives the reason for a tolerance that differs from the default."""
    assert bool(why) == (rtol is not None or atol is not None), f"{name}: a tolerance and why= come together"
    assert name not in ROWS, f"a second row is called {name}"
    assert all(c.isalnum() and c.isascii() or c == "_" for c in name), f"{name}: letters, digits and _ only"
    ROWS[name] = Row(name, body, inputs, dict(rtol=rtol, atol=atol, raises=raises, mutates=mutates,
                                              types=types or {}, trace=trace, also=list(also)))


# ---- Grids ---------------------------------------------------------------------------------------

class _Any:
    """Stands in a grid for a tensor with the shape, dtype and layout of the cell. any_(lo=, hi=) limits its values."""

    def __init__(self, lo=None, hi=None):
        self.limits = {} if lo is None and hi is None else {"lo": lo, "hi": hi}

    def at(self, shape, dtype, layout):
        limits = dict(self.limits)
        if dtype == "u8" and limits:
            limits["lo"] = max(0, limits["lo"])
        if dtype in INTS + SHORTS and limits:
            limits = {k: int(v) for k, v in limits.items()}
        return LAYOUTS[layout](random(dtype, *shape, **limits), shape)


ANY = _Any()
any_ = _Any

#: The sizes 0, 1, a prime, one more than a multiple of the vector width (4 lanes), and two dimensions.
SIZES = ((0,), (1,), (5,), (17,), (3, 7))
LAYOUTS = {
    "": lambda x, shape: x,
    "strided": lambda x, shape: noncontig(x),
    "turned": lambda x, shape: transposed(x),
    "nhwc": lambda x, shape: channels_last(x),
    "spread": lambda x, shape: expanded(random("f32", 1, *shape[1:]), *shape),
}


def grid(name, body, *, sizes=SIZES, dtypes=("f32",), layouts=("",), rtol=None, atol=None, why="", raises=None,
         mutates=False, types=None, **inputs):
    """Adds a row for each size, dtype and layout. Inputs may be ANY, any_(lo, hi), or functions of
    (shape, dtype); all other inputs are the same in every row. A layout that needs more dimensions than a size has is skipped."""
    for shape, dtype, layout in itertools.product(sizes, dtypes, layouts):
        least = {"turned": 2, "nhwc": 3, "spread": 1}.get(layout, 0)
        if len(shape) < least or (layout == "spread" and dtype != "f32"):
            continue
        cell = {}
        for key, value in inputs.items():
            if isinstance(value, _Any):
                value = value.at(shape, dtype, layout)
            elif callable(value):
                value = value(shape, dtype)
            cell[key] = value
        parts = [name, "" if dtype == "f32" and len(dtypes) == 1 else dtype,
                 "x".join(map(str, shape)) or "0d", layout]
        row("_".join(p for p in parts if p), body, rtol=rtol, atol=atol, why=why, raises=raises, mutates=mutates,
            types=types, **cell)


#: Layouts of a 3-d tensor. The rules for views differ between them.
CUBE = {"plain": f32(2, 3, 4), "strided": noncontig(f32(2, 3, 4)), "turned": transposed(f32(2, 3, 4)),
        "permuted": permuted(f32(4, 2, 3), 1, 2, 0), "spread": expanded(f32(2, 1, 4), 2, 3, 4),
        "empty": f32(2, 0, 4), "ones": f32(1, 3, 1)}


def each(name, body, cases=CUBE, **options):
    for case, x in cases.items():
        row(f"{name}_{case}", body, x=x, **options)


__all__ = ["ALL", "ANY", "CUBE", "DTYPES", "FLOATS", "INF", "INTS", "LAYOUTS", "MAX", "NAN", "SIZES", "any_", "b8",
           "COMPLEX", "HALVES", "SHORTS", "channels_last", "each", "expanded", "f32", "f64", "grid", "i32", "i64", "noncontig", "nonfinite",
           "of", "perm", "permuted", "random", "row", "special", "tensor", "transposed", "u8", "weight"]
