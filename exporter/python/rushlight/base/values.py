"""Converts Python's values to requests of librushlight_native."""

import array
import ctypes
import dataclasses
import mmap
import numbers
import operator
import sys
import weakref

from .errors import unsupported

DTYPES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7, "complex32": 8,
           "complex64": 9, "complex128": 10, "bool": 11, "qint8": 12, "quint8": 13, "qint32": 14, "bfloat16": 15,
           "quint4x2": 16, "quint2x4": 17, "float8_e5m2": 23, "float8_e4m3fn": 24, "float8_e5m2fnuz": 25, "float8_e4m3fnuz": 26,
           "uint16": 27, "uint32": 28, "uint64": 29}


foreign = weakref.WeakValueDictionary()
"""{number: tensor without bytes}, which the library knows by number."""


def loaded(name):
    """Returns a module that some other code has imported, or None if none has."""
    return sys.modules.get(name)


class Request:
    """The values of one call. It keeps the memory of tensors alive, and must live as long as the call.

    Attributes:
        numpy, torch (bool): whether there were NumPy arrays, or PyTorch's tensors
        lasts (bool): the values of an answer belong to a program, which the library uses until the call ends
    """

    def __init__(self):
        self.numpy = self.torch = self.lasts = False
        self._kept = []

    def keep(self, what):
        """Keeps an object alive."""
        self._kept.append(what)

    def memory(self, data):
        """Returns the address and the number of some bytes."""
        self.keep(data)
        return [ctypes.cast(data, ctypes.c_void_p).value or 0, len(data)]

    def value(self, value):
        """Returns the value as JSON has it.

        Raises:
            TypeError: no model can take such a value
        """
        plain = _scalar(value)
        if plain is not NotImplemented:
            return plain
        torch, numpy = loaded("torch"), loaded("numpy")
        if torch and isinstance(value, torch.Tensor):
            self.torch = True
            return self._tensor(value)
        if numpy and isinstance(value, numpy.ndarray):
            self.numpy = True
            return self._array(value, value)
        if isinstance(value, (list, range)):
            return [self.value(item) for item in value]
        if isinstance(value, tuple):
            return {"tuple": [self.value(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": [self.value(part) for item in value.items() for part in item]}
        if torch and isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return _number_of(torch, value)
        if torch and isinstance(value, torch.device):
            return {"device": str(value)}
        return self._foreign_value(value, torch)

    def _foreign_value(self, value, torch):
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = (getattr(value, field.name) for field in dataclasses.fields(value))
            return {"tuple": [self.value(item) for item in fields if item is not None]}
        parts = _parts(value, torch)
        if parts is not None:
            return {"tuple": [self.value(item) for item in parts]}
        shared = _as_numpy(value)
        if shared is not None:
            self.numpy = True
            return self._array(shared, value)
        if hasattr(value, "__index__"):
            return operator.index(value)
        if isinstance(value, numbers.Number) or hasattr(value, "__float__") and not hasattr(value, "__len__"):
            return float(value)
        raise TypeError(f"a value of type {type(value).__name__} cannot be passed to a model")

    def _tensor(self, given):
        self._kept.append(given)  # another tensor would get its number
        tensor = given.detach()
        dtype = DTYPES[str(tensor.dtype).removeprefix("torch.")]
        form = _form(tensor)
        if form is not None:
            sizes = [] if form[0] == "nested" else list(tensor.shape)
            foreign[id(tensor)] = tensor
            self._kept.append(tensor)
            return {"foreign": [dtype, sizes, *form, id(tensor)]}
        tensor = tensor.resolve_conj().resolve_neg()
        self._kept.append(tensor)
        storage = tensor.untyped_storage()
        memory = [storage._cdata, storage.data_ptr(), storage.nbytes()]
        return {"tensor": [dtype, list(tensor.shape), list(tensor.stride()), tensor.storage_offset(), memory, id(given)]}

    def _array(self, array, given):
        self._kept.append(given)
        if array.dtype.name not in DTYPES or not array.dtype.isnative:
            raise TypeError(f"an array of dtype {array.dtype} cannot be passed to a model")
        item = array.dtype.itemsize
        if any(stride % item or stride < 0 for stride in array.strides):
            array = array.copy()
        root = array
        while type(root.base) is type(array):
            root = root.base
        start, address = root.ctypes.data, array.ctypes.data
        if root.base is not None or not root.flags.c_contiguous or (address - start) % item:
            root, start = array, address
        self._kept.append(array)
        reach = sum((n - 1) * stride for n, stride in zip(array.shape, array.strides)) + item if array.size else 0
        memory = [start, start, max(root.nbytes, address - start + reach)]
        return {"tensor": [DTYPES[array.dtype.name], list(array.shape), [s // item for s in array.strides],
                           (address - start) // item, memory, id(given)]}


def require_utf8(text, what, error=ValueError):
    """Raises an error if a str has surrogates, which UTF-8 lacks, so that neither PyTorch nor a file can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise error(f"{what} must have only characters that UTF-8 has, got {text!r}") from None


def number_of(dtype):
    """Returns the number of a torch.dtype."""
    return DTYPES[dtype_of(dtype)]


def dtype_of(value):
    """Returns the name of a torch.dtype, or None for other values."""
    torch = loaded("torch")
    return str(value).removeprefix("torch.") if torch and isinstance(value, torch.dtype) else None


def refuse_fake(value):
    """Refuses a tensor without memory, as of torch._subclasses or inside of a transform of torch.func.

    Raises:
        RushlightError
    """
    torch = loaded("torch")
    if not torch or not isinstance(value, torch.Tensor) or value.device.type != "cpu" or str(value.layout) != "torch.strided":
        return
    if has_memory(value):
        return
    raise unsupported(
        "the model holds a fake tensor, which has no values: create the model again, because a failed torch.export or a transform "
        "of torch.func left such a tensor behind. If torchao or quanto quantized the weights, call "
        'torchao.utils.unwrap_tensor_subclass, or export the original model with quantize="int8"')


def has_memory(tensor):
    """Returns whether a strided tensor has elements, which wrappers of other tensors and fake tensors lack."""
    if not tensor.numel():
        return True
    try:
        return tensor.untyped_storage().data_ptr() != 0
    except (RuntimeError, NotImplementedError):
        return False


def _as_numpy(value):
    """Returns a NumPy array on the memory of an object, by DLPack or the buffer protocol, or None if the object offers neither.

    Raises:
        TypeError: NumPy cannot share the memory, as on a GPU
    """
    by_dlpack = hasattr(value, "__dlpack__")
    if not by_dlpack and not isinstance(value, _BUFFERS):
        return None
    import numpy

    if not by_dlpack:
        return numpy.asarray(memoryview(value))
    try:
        return numpy.from_dlpack(value)
    except (BufferError, RuntimeError) as error:
        raise TypeError(f"a value of type {type(value).__name__} cannot be passed to a model: {error}") from None


_BUFFERS = array.array, bytearray, bytes, ctypes.Array, memoryview, mmap.mmap


def _scalar(value):
    """Returns the form of a number or a text, or NotImplemented for other values."""
    if value is None or isinstance(value, (bool, int, str)):
        if isinstance(value, int) and not -1 << 63 <= value < 1 << 63:
            raise OverflowError(f"an int must fit in 64 bits, got {value}")
        if isinstance(value, str):
            require_utf8(value, "a str")
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return NotImplemented


def _number_of(torch, value):
    """Returns the number of a dtype, a layout or a memory format, as in schemas."""
    if isinstance(value, torch.dtype):
        return DTYPES[str(value).removeprefix("torch.")]
    names = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d") if isinstance(
        value, torch.memory_format) else ("strided", "sparse_coo")
    return next(i for i, name in enumerate(names) if value == getattr(torch, name))


def _parts(value, torch):
    """Returns the children of an object of a class that is registered as a pytree, as in torch.export, or None."""
    if not torch:
        return None
    from torch.utils import _pytree

    node = _pytree.SUPPORTED_NODES.get(type(value))
    return node and node.flatten_fn(value)[0]


def _form(tensor):
    """Returns [form, device] of a tensor without plain bytes, or None for other tensors."""
    form = ("nested" if tensor.is_nested else "mkldnn" if tensor.is_mkldnn else "quantized" if tensor.is_quantized
            else "sparse" if str(tensor.layout) != "torch.strided" else "")
    device = "" if tensor.device.type == "cpu" else str(tensor.device)
    if form or device:
        return [form, device]
    try:
        storage = tensor.untyped_storage()
        end = tensor.storage_offset() + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride())) + 1
        has_bytes = not tensor.numel() or (end * tensor.element_size() <= storage.nbytes() and storage.data_ptr())
    except (RuntimeError, NotImplementedError):
        has_bytes = False
    return None if has_bytes else ["", ""]


# ---- Named tuples as arguments

def as_tuples(value, type_):
    """Replaces enums and objects by the named tuples of the type: an enum by its name and value, an object by its attributes."""
    if value is None or not _wants_fields(type_):
        return value
    kind, items = type_["kind"], type_.get("items", [])
    if kind == "optional":
        return as_tuples(value, items[0])
    if kind == "tuple" and _can_be_tuple(value, type_):
        parts = list(value) if isinstance(value, (tuple, list)) else [_field_of(value, name) for name in type_["fields"]]
        return tuple(as_tuples(part, items[i]) if i < len(items) else part for i, part in enumerate(parts))
    if kind == "Dict" and isinstance(value, dict):
        return {key: as_tuples(item, items[1]) for key, item in value.items()}
    if isinstance(value, (tuple, list)) and kind in ("list", "tuple"):
        types = [items[0]] * len(value) if kind == "list" else items
        parts = [as_tuples(part, types[i]) if i < len(types) else part for i, part in enumerate(value)]
        return tuple(parts) if isinstance(value, tuple) else parts
    return value


def _wants_fields(type_):
    return bool(type_.get("fields")) or any(map(_wants_fields, type_.get("items", ())))


def _field_of(value, name):
    return value[name] if isinstance(value, dict) else getattr(value, name)


def _can_be_tuple(value, type_):
    fields = type_.get("fields", [])
    if len(fields) != len(type_.get("items", [])):
        return False
    if isinstance(value, (tuple, list)):
        return True
    if isinstance(value, dict):
        return set(value) == set(fields)
    more = (n for n in getattr(value, "__dataclass_fields__", ()) if n not in fields and getattr(value, n) is not None)
    return not any(True for _ in more) and all(hasattr(value, name) for name in fields)
