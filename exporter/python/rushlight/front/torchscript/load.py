"""Loads files of torch.jit.save."""

import os

import torch

from ...base.errors import RushlightError
from ...base.torch_messages import missing_operator, unknown_class

_END = 1 << 20  # the zip's directory is at the end of a file


def load_torchscript(path):
    """Returns the ScriptModule in a file, which must be trusted: loading runs code of it.

    Raises:
        RushlightError: the file cannot be read, is not a file of torch.jit.save, or uses something that this torch does not have
    """
    _require_readable(path)
    try:
        return torch.jit.load(path, map_location="cpu")
    except (RuntimeError, ValueError) as error:
        raise _refusal(path, error) from error


def _require_readable(path):
    if os.path.isdir(path):
        raise RushlightError("bad-argument", f"{path} is a folder, not a file")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise RushlightError("bad-argument", f"{path} cannot be read: {error.strerror}") from error


def _refusal(path, error):
    operator, unknown = missing_operator(error), unknown_class(error)
    if operator:
        return RushlightError("unsupported", f"{path} uses the operator {operator}, which this torch does not have: load the library "
                              "that registers it, by --load-library or, in Python, torch.ops.load_library")
    if unknown and unknown.startswith("torch.classes.rushlight."):
        return RushlightError("unsupported", f"{path}: a part of this model was lowered already: export the model as it was "
                              "before rushlight.lower")
    if unknown:
        return RushlightError("unsupported", f"{path}: an object of {unknown} cannot be stored")
    first = str(error).lstrip("\n").partition("\n")[0]
    return RushlightError("bad-file", path + (_remedy(path) or f" is not a TorchScript file: {first}"))


def _remedy(path):
    """Names the kind of a file that is not a TorchScript file: other files of PyTorch are known by the names in the zip's directory."""
    with open(path, "rb") as file:
        start = file.read(9)
        size = file.seek(0, 2)
        file.seek(max(0, size - _END))
        end = file.read()
    if start.startswith(b"\x89RUSH"):
        return " is a .rush file already: inspect, verify and diff take it, and so does rushlight.load"
    if len(start) == 9 and start[8:] == b"{":
        return (" is a .safetensors file, which holds tensors and no program: load them into the model in Python and use "
                'rushlight.export(model, (x,), "MODEL.rush") there')
    if start.startswith(b"\x08"):
        return " is an ONNX model: export the PyTorch model that it was made of"
    if b"models/model.json" in end or b"serialized_exported_program.json" in end:
        return f' was written by torch.export.save, which only Python reads: use rushlight.export("{path}", path="MODEL.rush") there'
    if start.startswith(b"\x80\x02") or (b"/data.pkl" in end and b"/constants.pkl" not in end):
        return (" was written by torch.save and needs the Python that made it: load it there and use "
                'rushlight.export(model, (x,), "MODEL.rush") or torch.jit.save')
    return ""
