"""Draws arguments for an operator from its schema: by type, and by PyTorch's names (dim, size, index, keepdim).

If PyTorch refuses the arguments, they are drawn again (argument_sets.py), so a guess here may sometimes be wrong.
Operators whose arguments depend more on each other have a function in structured.py.
"""

import math
import random
import zlib

import torch

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
COMPLEX = (torch.complex64, torch.complex128)
DTYPES = {torch.float32: 30, torch.float64: 10, torch.int64: 14, torch.int32: 6, torch.uint8: 5, torch.bool: 8, torch.float16: 6,
          torch.bfloat16: 6, torch.int8: 4, torch.int16: 4, torch.complex64: 5, torch.complex128: 2}
SIZES = (0, 1, 1, 2, 3, 4, 5, 7, 9, 17)
MAX_ELEMENTS = 600  # elements of a tensor
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5)
TEXTS = ("", "a", "ab", "Ab aB", "hello world", " x ", "1", "-12", "3.5", "tab\tand\nline", "snake_case", "ÄöÜ", "日本", "aaa", "A", "  ", "a,b,,c", "x\r\ny")
WORDS = {"reduce": ("sum", "prod", "mean", "amax", "amin", "add", "multiply"), "rounding_mode": (None, "trunc", "floor"),
         "approximate": ("none", "tanh"), "indexing": ("ij", "xy"), "side": (None, "left", "right"), "UPLO": ("L", "U"),
         "mode": ("constant", "reflect", "replicate", "circular"), "padding": ("valid", "same"), "fillchar": (" ", "*", "ß"), "separator": (None, " ", ",", "a", "ab"),
         "driver": (None,), "type": ("cpu",)}
AXES = ("dim", "dim0", "dim1", "dim2", "axis", "axis0", "axis1", "source", "destination", "start_dim", "end_dim", "dims", "dimension")


class Draw:
    """Draws one set of arguments, which is the same for the same name, seed and attempt."""

    def __init__(self, name, seed, attempt, variables=None):
        self.rng = random.Random(f"{name} {seed} {attempt}")
        self.generator = torch.Generator().manual_seed(zlib.crc32(f"{name} {seed} {attempt}".encode()))
        self.variables = variables or {}
        self.dtype = self.pick(list(DTYPES), list(DTYPES.values()))
        self.shape = self.new_shape()
        self.before = []  # the drawn tensors

    def pick(self, values, weights=None):
        return self.rng.choices(list(values), weights)[0]

    def maybe(self, p=0.5):
        return self.rng.random() < p

    def int(self, lo, hi):
        return self.rng.randint(lo, hi)

    def new_shape(self, least=0, most=4):
        rank = min(most, max(least, self.pick((0, 1, 2, 3, 4), (2, 4, 5, 4, 2))))
        shape = [self.pick(SIZES) for _ in range(rank)]
        while math.prod(shape) > MAX_ELEMENTS:
            shape[self.int(0, rank - 1)] = self.pick((1, 2, 3))
        return tuple(shape)

    # ---- Tensors

    def tensor(self, shape=None, dtype=None, lo=None, hi=None, special=True, layout=True):
        """Draws a tensor of a shape and dtype from [lo, hi), or from [lo, hi] for integers."""
        shape = self.shape if shape is None else tuple(shape)
        dtype = dtype or self.dtype
        x = self.values(shape, dtype, lo, hi, special and lo is None)
        return self.laid_out(x) if layout else x

    def values(self, shape, dtype, lo, hi, special):
        if dtype == torch.bool:
            return torch.randint(0, 2, shape, generator=self.generator).bool()
        if dtype in INTS:
            return self.integers(shape, dtype, lo, hi, special)
        wide = torch.complex128 if dtype.is_complex else torch.float64
        if lo is not None:
            return (torch.rand(shape, generator=self.generator, dtype=wide) * (hi - lo) + lo).to(dtype)
        x = torch.randn(shape, generator=self.generator, dtype=wide)
        style = self.pick(("plain", "whole", "wide", "special"), (6, 1, 1, 2))
        if style == "whole" and not dtype.is_complex:
            x = (x * 2).round()
        elif style == "wide":
            x = x * 10 ** self.rng.uniform(-2, 2)
        x = x.to(dtype)
        if style == "special" and special and not dtype.is_complex:
            for at in torch.randperm(x.numel(), generator=self.generator)[:self.int(1, 4)].tolist():
                x.view(-1)[at] = self.pick(SPECIAL)
        return x

    def integers(self, shape, dtype, lo, hi, special):
        least = (0 if dtype == torch.uint8 else -9) if lo is None else lo
        x = torch.randint(least, max(least, 9 if hi is None else hi) + 1, shape, generator=self.generator).to(dtype)
        if special and x.numel() and self.maybe(0.1):
            x.view(-1)[self.int(0, x.numel() - 1)] = self.pick((torch.iinfo(dtype).min, torch.iinfo(dtype).max))
        return x

    def laid_out(self, x):
        """Returns the same values, in a random layout."""
        how = self.pick(("plain", "strided", "turned", "part", "last"), (5, 2, 2, 1, 1))
        if how == "strided" and x.dim():
            wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1] + 1, dtype=x.dtype)
            wide[..., 1::2] = x
            return wide[..., 1::2]
        if how == "turned" and x.dim() > 1:
            return x.transpose(-1, -2).contiguous().transpose(-1, -2)
        if how == "part" and x.dim():
            return torch.cat([x[:0], torch.zeros(1, *x.shape[1:], dtype=x.dtype), x])[1:]
        if how == "last" and x.dim() == 4:
            return x.contiguous(memory_format=torch.channels_last)
        return x

    def related_shape(self):
        """Draws a shape that often broadcasts with `shape`."""
        how = self.pick(("same", "ones", "fewer", "number", "other"), (10, 3, 2, 2, 1))
        if how == "ones":
            return tuple(1 if self.maybe() else n for n in self.shape)
        if how == "fewer":
            return self.shape[self.int(0, len(self.shape)):]
        return {"same": self.shape, "number": (), "other": self.new_shape()}[how]

    def related_dtype(self):
        return self.dtype if self.maybe(0.7) else self.pick(list(DTYPES), list(DTYPES.values()))

    def named_tensor(self, name):
        if name in ("index", "indices", "tensor_indices_or_sections"):
            return self.indices(name)
        if name in ("mask", "condition"):
            return self.tensor(self.related_shape(), torch.bool)
        first = not any(isinstance(v, torch.Tensor) for v in self.before)
        return self.tensor() if first else self.tensor(self.related_shape(), self.related_dtype())

    def indices(self, name=""):
        most = max(0, min((n for n in self.shape), default=1) - 1)
        return self.tensor(self.pick(((), (self.int(0, 5),), self.shape)), torch.int64, lo=0, hi=most)

    # ---- Numbers and text

    def axis(self):
        rank = max(1, len(self.shape))
        return self.int(-rank, rank - 1)

    def axes(self):
        rank = max(1, len(self.shape))
        found = self.rng.sample(range(rank), self.int(0, rank))
        return [d - rank if self.maybe(0.3) else d for d in found]

    def integer(self, name):
        if name in AXES:
            return self.axis()
        if name in ("dtype", "from_", "to", "type1", "type2"):
            return self.pick((0, 1, 2, 3, 4, 5, 6, 7, 11, 15, 9))
        if name == "memory_format":
            return self.pick((0, 1, 2))
        if name in ("layout", "index") and not self.sequences():
            return 0
        if name in ("el", "item", "key") and self.maybe(0.7):
            return self.of_a_sequence(int, lambda: self.int(-3, 5))
        if name in ("idx", "index") and self.sequences():
            n = len(self.sequences()[0])
            return self.int(-n, max(0, n - 1))
        if name == "i":  # for chr and bin
            return self.pick((0, 1, 65, 97, 255, 1000, 0x65E5, self.int(0, 0x2FF)))
        return self.pick((self.int(-3, 5), self.int(0, 3), self.int(-100, 100)), (8, 8, 3))

    def tensors(self):
        return [v for v in self.before if isinstance(v, torch.Tensor)]

    def sequences(self):
        return [v for v in self.before if isinstance(v, (list, str, dict))]

    def of_a_sequence(self, kind, otherwise):
        items = [v for s in self.sequences() for v in s if type(v) is kind]
        return self.pick(items) if items else otherwise()

    def integers_of(self, name):
        rank = len(self.shape)
        if name in ("dim", "dims", "axis", "source", "destination"):
            return self.rng.sample(range(rank), rank) if self.maybe(0.3) else self.axes()
        if name in ("size", "shape", "sizes"):
            return self.size()
        if name == "stride":
            return [self.int(0, 3) for _ in range(rank)]
        if name in ("split_sizes", "split_size") and rank:
            n = self.shape[0]
            k = self.int(0, n)
            return [k, n - k]
        return [self.int(-2, 4) if self.maybe(0.2) else self.int(0, 3) for _ in range(self.pick((rank, self.int(0, 4)), (2, 3)))]

    def size(self):
        """Draws sizes for a view, for an expansion, or any sizes."""
        how = self.pick(("flat", "same", "parts", "wider", "new"))
        shape = list(self.shape)
        if how == "flat":
            return [-1]
        if how == "parts" and shape:
            at = self.int(0, len(shape) - 1)
            n = shape[at]
            k = self.pick([d for d in range(1, n + 1) if n % d == 0] or [1])
            return shape[:at] + [k, n // k if n else 0] + shape[at + 1:]
        if how == "wider":
            return [self.int(1, 3)] + [self.pick((n, -1)) for n in shape]
        return list(self.new_shape()) if how == "new" else shape

    def number(self):
        kind = self.pick(("int", "float", "special", "bool", "complex"), (8, 8, 1, 1, 4 if self.dtype.is_complex else 0))
        if kind == "special":
            return self.pick(SPECIAL)
        return {"int": self.int(-4, 4), "float": self.rng.gauss(0, 2), "bool": self.maybe(), "complex": complex(self.rng.gauss(0, 1), self.rng.gauss(0, 1))}[kind]

    def real(self, name):
        if name in ("p", "momentum", "dropout_p"):
            return self.rng.random()
        if name in ("eps", "rtol", "atol"):
            return self.pick((1e-5, 1e-3, 0.1))
        if name in ("std", "sigma", "lambd"):
            return self.rng.uniform(0.1, 3)
        if name in ("el", "item", "key") and self.maybe(0.7):
            return self.of_a_sequence(float, lambda: self.rng.gauss(0, 1))
        return self.pick((self.rng.gauss(0, 2), float(self.int(-3, 4)), self.rng.uniform(0, 1), self.pick(SPECIAL)), (5, 3, 2, 1))

    def complex_number(self, name):
        def drawn():
            return complex(self.rng.gauss(0, 1), self.rng.gauss(0, 1))

        return self.of_a_sequence(complex, drawn) if name in ("el", "item", "key") and self.maybe(0.7) else drawn()

    def text(self, name):
        if name in WORDS:
            return self.pick(WORDS[name])
        strings = [v for v in self.before if isinstance(v, str)]
        if strings and strings[0] and self.maybe(0.6):
            a = self.int(0, len(strings[0]) - 1)
            return strings[0][a:a + self.int(1, 3)]
        if name in ("el", "item", "key") and self.maybe(0.7):
            return self.of_a_sequence(str, lambda: self.pick(TEXTS))
        return self.pick(TEXTS)

    # ---- By type

    def value(self, type_, name):
        kind = type_.kind()
        if kind == "VarType":
            return self.value(self.variables[str(type_)], name)
        if kind == "OptionalType":
            return None if name in ("layout", "device", "pin_memory", "generator") or self.maybe(0.35) else self.value(type_.getElementType(), name)
        if kind == "ListType":
            return self.list_of(type_.getElementType(), name)
        if kind == "DictType":
            return {self.value(type_.getKeyType(), "k"): self.value(type_.getValueType(), "v") for _ in range(self.int(0, 3))}
        if kind == "TupleType":
            return tuple(self.value(t, name) for t in type_.elements())
        simple = {"TensorType": lambda: self.named_tensor(name), "IntType": lambda: self.integer(name), "FloatType": lambda: self.real(name),
                  "BoolType": self.maybe, "NumberType": self.number, "StringType": lambda: self.text(name), "NoneType": lambda: None,
                  "ComplexType": lambda: self.complex_number(name), "DeviceObjType": lambda: torch.device("cpu")}
        return simple[kind]()

    def list_of(self, type_, name):
        kind = type_.kind()
        if kind == "IntType" and self.tensors():
            return self.integers_of(name)
        if kind == "OptionalType":
            return [None if self.maybe(0.3) else self.indices() for _ in range(self.int(1, max(1, len(self.shape))))]
        if kind == "TensorType":
            if name == "indices":
                return [self.indices() for _ in range(self.int(1, max(1, len(self.shape))))]
            return [self.tensor(self.pick((self.shape, self.related_shape()), (3, 1)), self.pick((self.dtype, self.related_dtype()), (3, 1)))
                    for _ in range(self.int(1, 4))]
        return [self.value(type_, "item of " + name) for _ in range(self.int(0, 5))]

    def arguments(self, schema, given):
        """Draws {name: value}, and keeps the values in `given`."""
        out = {}
        for a in schema.arguments:
            if a.name in given:
                out[a.name] = given[a.name]
            elif a.has_default_value() and self.maybe(0.4):
                out[a.name] = default_of(a)
            else:
                out[a.name] = self.value(a.type, a.name)
            self.before.append(out[a.name])
        return out


def default_of(argument):
    """Returns the default of an argument. A number that stands for a list is repeated to the length in the schema."""
    value = argument.default_value
    return [value] * (argument.N or 1) if argument.type.kind() == "ListType" and isinstance(value, int) else value
