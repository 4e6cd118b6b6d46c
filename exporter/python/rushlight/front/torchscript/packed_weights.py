"""Unpacks the packed weights of quantized modules, which are objects of C++ classes."""

import functools

import torch

from ...base.errors import unsupported
from . import places
from .objects import packed_class
from .places import Place

_LINEAR, _CONV2D, _CONV3D = "LinearPackedParamsBase", "Conv2dPackedParamsBase", "Conv3dPackedParamsBase"
_CELL, _EMBEDDING = "CellParamsBase", "EmbeddingPackedParamsBase"


def is_qnnpack():
    """Returns whether qnnpack is PyTorch's current engine."""
    return torch.backends.quantized.engine == "qnnpack"


def unpacked_inputs(graph, node):
    """Returns the node's inputs, in which packed quantized weights are replaced by their parts.

    These are integers, scales, zero points, bias (lists of these for recurrent layers) and whether qnnpack is the engine. For a
    convolution stride, padding, dilation, output padding, groups, and whether it is transposed follow, for recurrent layers whether
    they leave a bit free. A packed embedding is replaced by its rows as bytes.
    """
    out = []
    for value in node.inputs():
        parts = _parts_of(value, node)
        out += [value] if parts is None else [graph.insertConstant(part) for part in parts]
    return out


def _parts_of(value, node):
    """Returns the parts of a value that is packed weights, or a list of packed weights. Returns None for other values."""
    is_list = value.node().kind() == "prim::ListConstruct"
    items = _items_of(value, node) if is_list else [value]
    names = {packed_class(item.type()) if item.node().kind() == "prim::Constant" and item.type().kind() == "ClassType" else ""
             for item in items}
    if len(names) != 1 or names == {""}:
        return None
    places_ = [Place(item.type(), node=item.node()) for item in items]
    parts = _OF_LISTS.get(names.pop()) if is_list else _OF_ONE.get(names.pop())
    return None if parts is None else parts(places_) if is_list else parts(places_[0])


def _items_of(value, node):
    """Returns the items of a list that is made here, and appended to before the node."""
    appends = [use.user for use in value.uses()
               if use.user.kind() == "aten::append" and use.user.owningBlock() == node.owningBlock() and use.user.isBefore(node)]
    appends.sort(key=functools.cmp_to_key(lambda a, b: -1 if a.isBefore(b) else 1))
    return [*value.node().inputs(), *(append.inputsAt(1) for append in appends)]


def _weight(weight, bias, axis):
    """Returns [integers, scales, zero points, bias]: a scale and a zero point for each channel (its first dimension)."""
    if not weight.is_quantized:
        raise unsupported("quantized weights must be int8, got float16: quantize with dtype=torch.qint8")
    channels = weight.size(axis)
    if weight.qscheme() == torch.per_tensor_affine:
        scales = torch.full((channels,), weight.q_scale(), dtype=torch.float64)
        zero_points = torch.full((channels,), weight.q_zero_point(), dtype=torch.int32)
    else:
        scales = weight.q_per_channel_scales().to(torch.float64)
        zero_points = weight.q_per_channel_zero_points().to(torch.int32)
    if isinstance(bias, torch.Tensor):
        bias = bias.detach().float().contiguous()
    return [weight.int_repr().contiguous(), scales, zero_points, bias]


def _linear_weight(packed):
    return _weight(*torch.ops.quantized.linear_unpack(packed), 0)


def _linear(place):
    return [*_linear_weight(places.read(place)), is_qnnpack()]


def _convolution(name, place):
    packed = places.read(place)

    def ask(what):
        return getattr(torch.ops.quantized, f"{name}_{what}")(packed)

    transposed, groups = ask("transpose") != 0, ask("groups")
    parts = _weight(*ask("unpack"), 1 if transposed else 0)
    if transposed:
        parts = _turned(parts, groups)
    lists = [list(ask(what)) for what in ("stride", "padding", "dilation", "output_padding")]
    return [*parts, is_qnnpack() and name == "conv2d",  # other weights of qnnpack cannot be unpacked
            *lists, groups, transposed]


def _turned(parts, groups):
    """Returns [inputs, outputs / groups, ...] as [outputs, inputs / groups, ...]."""
    integers, scales, zero_points, bias = parts
    inputs, outputs, *kernel = integers.shape
    turned = integers.reshape(groups, inputs // groups, outputs, *kernel).transpose(1, 2)
    turned = turned.reshape(outputs * groups, inputs // groups, *kernel).contiguous()
    return [turned, scales.repeat(groups), zero_points.repeat(groups), bias]


def _table(place):
    """Rows of integers, each followed by its scale and bias, as PyTorch packs them: of float32 behind bytes, of float16 behind halves
    of bytes."""
    weight = torch.ops.quantized.embedding_bag_unpack(places.read(place))
    number = {torch.quint8: torch.float32, torch.quint4x2: torch.float16}.get(weight.dtype)
    if number is None:
        raise unsupported("this torch does not support packed embeddings of this kind")
    scales = weight.q_per_channel_scales().float()
    biases = weight.q_per_channel_zero_points().float() * scales * -1
    ends = torch.stack([scales, biases], 1).to(number).view(torch.uint8)
    return [torch.cat([weight.int_repr().reshape(weight.size(0), -1), ends], 1)]


def _cells(places_):
    """Returns recurrent layers: for each layer and direction the weights of the input, then those of the state."""
    parts, reduced = [], False
    for place in places_:
        kind, _, _, flags, packed = places.read(place)._get_method("__getstate__")()
        if kind != "quantized_dynamic":
            raise unsupported(f"quantized recurrent layers must be quantized_dynamic, got {kind}: quantize them dynamically with "
                              "dtype=torch.qint8")
        reduced = reduced or any(flags)
        for one in packed:
            integers, scales, zero_points, bias = _linear_weight(one)
            bias = torch.zeros(integers.size(0)) if bias is None else bias
            parts.append((integers.flatten(), scales.float(), zero_points, bias))
    return [*(torch.cat(column) for column in zip(*parts)), is_qnnpack(), reduced]


_OF_ONE = {_LINEAR: _linear, _CONV2D: functools.partial(_convolution, "conv2d"), _CONV3D: functools.partial(_convolution, "conv3d"),
           _EMBEDDING: _table}
_OF_LISTS = {_CELL: _cells}
