"""Programs for operators that no single call in PyTorch makes: operators of the exporter, of containers and objects, and of
ExportedProgram. Each operator runs in a program that contains it, with drawn numbers.

- ROWS: a conformance row with newly drawn random inputs.
- EXPORTED: an ExportedProgram.
- QUANTIZED: export(quantize=...). PyTorch has no reference answer, so Node is compared with the native answer, which
  tests/exporter/test_quantize_option.py compares with PyTorch.
"""

import random
import tempfile

import argument_sets  # noqa: I001 - reference, before torch
import conformance
import generate
import rushlight
import torch
from draw import Draw
from torch import nn

ROWS = {
    "rush::copy_out": "inplace_out_add", "rush::copy_in_place": "programs_in_place", "rush::grow": "grow_along_1", "rush::linear": "linear_batch_relu",
    "rush::conv": "conv_1d_depthwise_f32", "rush::scaled_conv": "conv_scaled_rows", "rush::chain": "kl_div",
    "rush::repeated_attention": "repeated_batches", "rush::rotate_half": "rotary", "rush::rms_norm": "rms_norm_written_of_float32",
    "rush::get_attr": "grow_along_0", "rush::set_attr": "grow_along_0", "rush::view_dtype": "embedding_bag_byte_prepack",
    "rush::object": "object_changed_in_a_loop", "rush::object_get": "object_changed_in_a_loop", "rush::object_set": "object_changed_in_a_loop",
    "prim::ListConstruct": "assign_mask_values", "prim::TupleConstruct": "tuple_swap", "prim::ListUnpack": "list_unpack",
    "prim::TupleUnpack": "tuple_of_tensors", "prim::TupleIndex": "tuple_index_slice", "prim::IfThenElse": "name_if_then_else", "prim::DictConstruct": "dict_of_tensors", "prim::isinstance": "union_isinstance",
    "prim::tolist": "tolist", "prim::EnumName": "enum_compared", "prim::EnumValue.int": "enum_compared", "aten::eq.enum": "enum_compared",
    "aten::ne.enum": "enum_compared", "aten::sort.any": "list_tuples_sort", "aten::sorted.any": "list_tuples_sort", "aten::percentFormat": "text_percent",
    "aten::eq.device": "name_devices", "aten::ne.device": "name_devices", "prim::type": "name_devices", "prim::index": "name_devices",
    "aten::device.with_index": "name_device_with_index", "aten::has_torch_function": "name_has_torch_function", "aten::warn": "warning", "aten::alias": "own_name_alias", "aten::dict.Tensor": "name_dict_of_tensor_pairs",
    "aten::dict": "name_ordered_dict",
    "rush::quantized_conv": "quantized_conv2d_depthwise_per_channel", "rush::quantized_by_table": "quantized_celu_of_qint8",
    "rush::quantized_sum": "quantized_add_of_qint8", "rush::quantized_sum_of_qnnpack": "quantized_add_of_qint8",
    "rush::quantized_product": "quantized_mul_of_quint8", "rush::quantized_cat": "quantized_cat_of_quint8",
    "rush::linear_dynamic": "linear_dynamic_per_channel", "rush::lstm_dynamic": "quantized_lstm", "rush::gru_dynamic": "quantized_gru",
    "rush::embedding_rows": "embedding_byte_33", "prim::is_quantized": "quantize_quint8", "aten::qscheme": "qscheme",
    "aten::dequantize.self": "quantize_quint8", "aten::int_repr": "quantize_quint8", "aten::q_scale": "quantize_quint8", "aten::q_zero_point": "quantize_quint8",
    "aten::quantize_per_tensor": "quantize_quint8", "aten::quantize_per_tensor.tensor_qparams": "quantize_by_tensors",
    "aten::quantize_per_channel": "quantize_channels_quint8", "aten::q_per_channel_scales": "quantize_channels_quint8",
    "aten::_make_per_tensor_quantized_tensor": "quantize_made_of_integers", "aten::_make_per_channel_quantized_tensor": "quantize_made_of_integers",
    "aten::q_per_channel_zero_points": "quantize_channels_quint8", "aten::q_per_channel_axis": "quantize_channels_quint8",
}
# Tensor keys are compared by identity, so the program itself makes the dict.
ROWS |= dict.fromkeys((f"aten::{op}" for op in ("__getitem__.Dict_Tensor", "_set_item.Tensor", "len.Dict_Tensor", "__contains__.Tensor", "get.Tensor",
                                                "get.default_Tensor", "keys.Tensor", "values.Tensor")), "dict_of_tensor_keys_f32")
ROWS |= dict.fromkeys((f"aten::{op}" for op in ("setdefault.Tensor", "pop.Dict_Tensor", "pop.Dict_default_Tensor", "copy.Dict_Tensor", "dict.Dict_Tensor",
                                                "Delete.Dict_Tensor", "update.Tensor", "items.Tensor")), "dict_of_tensor_keys_writes")
ROWS |= dict.fromkeys(("aten::popitem.Tensor", "aten::clear.Tensor"), "dict_of_tensor_keys_popitem")


class OfRow(argument_sets.Program):
    """The program of a conformance row, with drawn inputs."""

    def __init__(self, name, seed):
        generate.load_rows()
        self.name, self.seed, self.row = name, seed, conformance.ROWS[ROWS[name]]
        self.function = generate.compile_row(self.row)

    def draw(self, attempt):
        generator = torch.Generator().manual_seed(random.Random(f"{self.name} {self.seed} {attempt}").getrandbits(60))
        made, cases = {}, [{}, *self.row.also]
        case = cases[attempt % len(cases)]
        for key, value in self.row.inputs.items():
            if not getattr(value, "is_weight", False):
                made[key] = conformance.build(case.get(key, value), generator, made)
        return tuple(made.values())


# ---- Operators of ExportedProgram only ----------------------------------------------------------------

class Sizes(nn.Module):
    def forward(self, x):
        return x.new_zeros([x.shape[0] ** 2]) + x.sum()


class Bits(nn.Module):
    def forward(self, x):
        return x.view(torch.int32)


class Asserts(nn.Module):
    def forward(self, x):
        torch._assert_async(x.sum() > -1e9)
        torch._assert_async(x.sum() < 1e9, "too large")
        return x + 1


class Checks(nn.Module):
    def forward(self, x):
        n = x.to(torch.int64).sum().item()
        torch._check(n < 2**40)
        return x + n


EXPORTED = {"aten::_assert_scalar": Checks, "aten::pow.int_to_int": Sizes, "aten::view.dtype": Bits, "aten::_assert_async": Asserts, "aten::_assert_async.msg": Asserts}


class OfExported(argument_sets.Program):
    more_vectors = 1  # the example of the program

    def __init__(self, name, seed):
        self.name, self.seed, module = name, seed, EXPORTED[name]()
        self.function = torch.export.export(module, self.draw("example"), dynamic_shapes=({0: torch.export.Dim("n", min=2, max=64)},))
        self.eager = module

    def draw(self, attempt):
        d = Draw(self.name, self.seed, attempt)
        return (d.tensor([d.int(2, 9), 3], torch.float32, special=False),)

    def run(self, args):
        return self.eager(*args)


# ---- Operators of export(quantize=...)----------------------------------------------------------------

class Convolutions(nn.Module):
    """One layer for each operator of "int8-static"."""

    def __init__(self):
        super().__init__()
        self.stem, self.deep, self.last = nn.Conv2d(3, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.Conv2d(16, 8, 1)
        self.down, self.up = nn.Conv2d(16, 8, 1), nn.Conv2d(8, 16, 1)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        y = torch.relu(self.deep(x) + x)
        scale = torch.sigmoid(self.up(torch.relu(self.down(y.mean([2, 3], keepdim=True)))))
        return self.last(scale * y)


def layers():
    return nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 32))


STATIC = ("int8-static", Convolutions, [2, 3, 16, 16])
QUANTIZED = {**dict.fromkeys(("rush::quantized_of", "rush::floats_of", "rush::quantized_add", "rush::quantized_scale", "rush::mean_of_quantized"), STATIC),
             "rush::linear_int8": ("int8", layers, [3, 64]), "rush::linear_weights": ("int4-weights", layers, [3, 64])}


class OfQuantized(argument_sets.Program):
    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        quantize, make, self.shape = QUANTIZED[name]
        torch.manual_seed(seed)
        module = make().eval()
        example = self.draw("example")
        with torch.no_grad():
            self.function = torch.jit.trace(module, example, check_trace=False)
        self.options = {"quantize": quantize, **({"calibration": [example]} if quantize == "int8-static" else {})}
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/{quantize}.rush"
            rushlight.export(self.function, path=path, verify=False, **self.options)
            self.native = rushlight.load(path)

    def run(self, args):
        return self.native(*args)

    def draw(self, attempt):
        return (Draw(self.name, self.seed, attempt).tensor(self.shape, torch.float32, special=False),)


KINDS = ((ROWS, OfRow), (EXPORTED, OfExported), (QUANTIZED, OfQuantized))


def program(name, seed):
    """Returns a program, or None for an operator that a call in PyTorch makes."""
    return next((kind(name, seed) for table, kind in KINDS if name in table), None)
