"""Converts answers of librushlight_native to Python's values."""

import collections
import ctypes
import keyword
import weakref

from . import native
from .values import DTYPES, foreign, loaded

_NAMES = {number: name for name, number in DTYPES.items()}


class Answer:
    """An answer with tensors.

    Args:
        answer: {"value": ..., "storages": ...}
        numpy (bool): whether tensors become NumPy arrays. Otherwise they become PyTorch's tensors
    """

    def __init__(self, answer, numpy):
        self._value = answer["value"]
        self._memories = [_memory(*storage) for storage in answer["storages"]]
        self._numpy, self._storages = numpy, {}

    def value(self):
        return self._read(self._value)

    def fields(self):
        """Returns the value as a dict by name."""
        return {name: self._read(value) for name, value in self._value.items()}

    def _read(self, value):
        if isinstance(value, list):
            return [self._read(item) for item in value]
        if not isinstance(value, dict):
            return value
        (kind, content), *rest = value.items()
        if kind == "tensor":
            return (self._array if self._numpy else self._tensor)(*content)
        if kind == "foreign":
            return foreign[content]
        if kind == "complex":
            return complex(*content)
        if kind == "dict":
            items = [self._read(item) for item in content]
            return dict(zip(items[::2], items[1::2]))
        if kind == "device":
            torch = loaded("torch")
            return torch.device(content) if torch and not self._numpy else content
        items = [self._read(item) for item in content]
        return _named(items, value["type"]) if kind == "tuple" else items

    def _tensor(self, dtype, sizes, strides, offset, storage):
        import torch

        dtype, memory = getattr(torch, _NAMES[dtype]), self._memories[storage]
        if not memory or 0 in sizes:
            return torch.empty_strided(sizes, strides, dtype=dtype)
        if storage not in self._storages:
            self._storages[storage] = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
        return torch.empty(0, dtype=dtype).set_(self._storages[storage], offset, sizes, strides)

    def _array(self, dtype, sizes, strides, offset, storage):
        import numpy

        name, memory = _NAMES[dtype], self._memories[storage]
        if name == "bfloat16":
            try:
                import ml_dtypes
            except ImportError:
                raise TypeError("NumPy has no bfloat16: install ml_dtypes, or PyTorch") from None
            of = numpy.dtype(ml_dtypes.bfloat16)
        else:
            of = numpy.dtype(name)
        if not memory or 0 in sizes:
            return numpy.empty(sizes, of)
        return numpy.ndarray(sizes, of, memory, offset * of.itemsize, [s * of.itemsize for s in strides])


def _memory(handle, address, size):
    """Returns the bytes of a storage, which the library keeps while they are used."""
    if not size:
        native.library().release(handle)
        return None
    memory = (ctypes.c_char * size).from_address(address)
    weakref.finalize(memory, native.library().release, handle).atexit = False
    return memory


def _named(items, type_):
    """Returns a tuple, which is a named one if Python allows the names of its class and fields."""
    name, fields = type_.get("name", ""), type_.get("fields", [])
    names = [*name.split("."), *fields]
    named = len(fields) == len(items) and fields and len(set(fields)) == len(fields)
    if not named or any(field.startswith("_") for field in fields):
        return tuple(items)
    if not all(text.isidentifier() and not keyword.iskeyword(text) for text in names):
        return tuple(items)
    return collections.namedtuple(name.rpartition(".")[2], fields)(*items)
