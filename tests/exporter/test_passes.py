"""Passes as text: the pass says changed, the verifier agrees, the text has and has not, and a second
run changes nothing."""

import pytest
import rushlight.front.answers  # noqa: F401 - answers which schemas PyTorch has
from rushlight.base import native

def run_pass(text, name):
    """(the text of the graph after a pass, whether the pass changed it). "none" only parses it."""
    return native.call("run_pass", text=text, **{"pass": name})


ROWS = [
    ("detach goes", "drop_identities", """
graph(%x : Tensor):
  %a : Tensor = aten::detach(%x)
  %b : Tensor = aten::relu(%a)
  return (%b)""", ["aten::relu(%x)"], ["aten::detach"]),
    ("detach stays an alias where sizes are changed in place", "drop_identities", """
graph(%x : Tensor):
  %a : Tensor = aten::detach(%x)
  %b : Tensor = aten::t_(%x)
  return (%a)""", ["aten::alias(%x)"], ["aten::detach"]),
    ("dropout in evaluation goes", "drop_identities", """
graph(%x : Tensor):
  %a : Tensor = aten::dropout(%x, 0.5, False)
  return (%a)""", ["return (%x)"], ["dropout"]),
    ("dropout in training stays", "drop_identities", """
graph(%x : Tensor):
  %a : Tensor = aten::dropout(%x, 0.5, True)
  return (%a)""", None, []),
    ("contiguous stays", "drop_identities", """
graph(%x : Tensor):
  %a : Tensor = aten::contiguous(%x, 0)
  return (%a)""", None, []),
    ("to the cpu goes", "drop_identities", """
graph(%x : Tensor):
  %a : Tensor = aten::to.prim_Device(%x, device("cpu"), None, False, False)
  return (%a)""", ["return (%x)"], []),
    ("to another dtype stays", "drop_identities", """
graph(%x : Tensor):
  %a : Tensor = aten::to.dtype(%x, 7, False, False, None)
  return (%a)""", None, []),
    ("a copy stays", "drop_identities", """
graph(%x : Tensor):
  %a : Tensor = aten::to.prim_Device(%x, device("cpu"), None, False, True)
  return (%a)""", None, []),
    ("dropout with a mask of its own stays", "drop_identities", """
graph(%x : Tensor):
  %a : Tensor, %b : Tensor = aten::native_dropout(%x, 0.5, False)
  return (%a, %b)""", None, []),
    ("a copy of a view is a view and a copy", "canonicalize", """
graph(%x : Tensor):
  %a : Tensor = aten::expand_copy(%x, [2, 3], False)
  return (%a)""", ["= aten::expand(%x, [2, 3], False)", "%a : Tensor = aten::clone(%v, 0)"], ["expand_copy"]),
    ("copies of parts are parts of a copy", "canonicalize", """
graph(%x : Tensor):
  %a : Tensor[] = aten::split_copy.Tensor(%x, 2, 0)
  return (%a)""", ["%v : Tensor = aten::clone(%x, 0)", "%a : Tensor[] = aten::split.Tensor(%v, 2, 0)"], ["split_copy"]),
    ("what is a copy and no view's stays", "canonicalize", """
graph(%x : Tensor):
  %a : Tensor = aten::_to_copy(%x, 6, None, None, None, False, None)
  return (%a)""", None, []),
    ("a number for a tensor is a scalar", "canonicalize", """
graph(%x : Tensor, %n : int):
  %a : Tensor = aten::mul.Tensor(%x, 2)
  %b : Tensor = aten::div.Tensor_mode(%a, %n, "floor")
  %c : Tensor = aten::pow.Tensor_Tensor(%b, 0.5)
  return (%c)""", ["aten::mul.Scalar(%x, 2)", 'aten::div.Scalar_mode(%a, %n, "floor")', "aten::pow.Tensor_Scalar(%b, 0.5)"], []),
    ("or a tensor, where there is no such operator", "canonicalize", """
graph(%x : Tensor):
  %a : Tensor = aten::maximum(%x, 2.5)
  %b : Tensor = aten::sub.Tensor(1, %a, 1)
  return (%b)""", ["prim::NumToTensor.Scalar(2.5)", "prim::NumToTensor.Scalar(1)", "aten::maximum(%x, %v)"], []),
    ("attention has one name", "canonicalize", """
graph(%q : Tensor, %m : Tensor):
  %a : Tensor, %l : Tensor = aten::_scaled_dot_product_flash_attention_for_cpu(%q, %q, %q, 0., True, %m, 0.5)
  return (%a)""", ["aten::scaled_dot_product_attention(%q, %q, %q, %m, 0., True, 0.5)"], ["flash"]),
    ("attention whose second result is used stays", "canonicalize", """
graph(%q : Tensor):
  %a : Tensor, %l : Tensor = aten::_scaled_dot_product_flash_attention_for_cpu(%q, %q, %q)
  return (%a, %l)""", None, []),
    ("what only a compiler relies on goes", "canonicalize", """
graph(%x : Tensor):
  %n : int = aten::sym_size.int(%x, 0)
   = aten::sym_constrain_range_for_size(%n, None, None)
  return (%n)""".replace("   = ", "  "), ["aten::size.int(%x, 0)"], ["sym_"]),
    ("what only a profiler shows goes", "canonicalize", """
graph(%x : Tensor):
  %h : Tensor = profiler::_record_function_enter("a", None)
  %a : Tensor = aten::relu(%x)
   = profiler::_record_function_exit(%h)
  return (%a)""".replace("   = ", "  "), ["aten::relu(%x)"], ["profiler"]),
    ("a cast is a use", "drop_casts", """
graph(%x : Tensor?):
  %a : Tensor = prim::unchecked_cast(%x)
  return (%a)""", ["return (%x)"], []),
    ("what is never read is None", "drop_casts", """
graph(%c : bool, %x : Tensor):
  %u : Tensor = prim::Uninitialized()
  %r : Tensor = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> (%u)
  return (%r)""", ["-> (None)"], ["Uninitialized"]),
    ("out= is a copy", "split_out", """
graph(%x : Tensor, %y : Tensor, %o : Tensor):
  %a : Tensor = aten::add.out(%x, %y, 1, %o)
  return (%a)""", ["aten::add.Tensor(%x, %y, 1)", "rush::copy_out(%o, %v)"], ["add.out"]),
    ("out= with state that is written is a copy, too", "split_out", """
graph(%x : Tensor, %m : Tensor, %v : Tensor, %o : Tensor, %p : Tensor, %q : Tensor):
  %a : Tensor, %b : Tensor, %c : Tensor = aten::_native_batch_norm_legit.out(%x, None, None, %m, %v, True, 0.1, 1e-5, %o, %p, %q)
  return (%a)""", ["aten::_native_batch_norm_legit(%x, None, None, %m, %v, True", "rush::copy_out(%o"], ["legit.out"]),
    ("out= of what makes tensors decides the dtype", "split_out", """
graph(%n : int[], %o : Tensor):
  %a : Tensor = aten::full.out(%n, 2, %o)
  return (%a)""", ["prim::dtype(%o)", "aten::full(%n, 2, %v, None, None, None)", "rush::copy_out(%o, %"], ["full.out"]),
    ("an in-place form that the runtime lacks is a copy", "split_in_place", """
graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::heaviside_(%x, %y)
  return (%a)""", ["aten::heaviside(%x, %y)", "rush::copy_in_place(%x, %v)"], ["heaviside_"]),
    ("an in-place form that it has stays", "split_in_place", """
graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::add_.Tensor(%x, %y, 1)
  return (%a)""", None, []),
    ("attention with dropout is what PyTorch makes of it", "canonicalize", """
graph(%q : Tensor, %k : Tensor, %v : Tensor):
  %a : Tensor = aten::scaled_dot_product_attention(%q, %k, %v, None, 0.5, False, None, False)
  return (%a)""", ["aten::_scaled_dot_product_attention_math(%q, %k, %v, None, 0.5, False, None, None, False)"], ["aten::scaled_dot"]),
    ("attention with a dropout that nobody knows yet, too", "canonicalize", """
graph(%q : Tensor, %p : float):
  %a : Tensor = aten::scaled_dot_product_attention(%q, %q, %q, None, %p, False, None, False)
  return (%a)""", ["aten::_scaled_dot_product_attention_math(%q, %q, %q, None, %p"], ["aten::scaled_dot"]),
    ("attention without dropout stays", "canonicalize", """
graph(%q : Tensor, %k : Tensor, %v : Tensor):
  %a : Tensor = aten::scaled_dot_product_attention(%q, %k, %v, None, 0., False, None, False)
  return (%a)""", None, []),
    ("a list of ints is a constant", "fold_containers", """
graph(%x : Tensor):
  %l : int[] = prim::ListConstruct(1, 2)
  %a : Tensor = aten::mean.dim(%x, %l, False, None)
  return (%a)""", ["aten::mean.dim(%x, [1, 2], False, None)"], ["ListConstruct"]),
    ("a list that is appended to stays", "fold_containers", """
graph(%x : Tensor, %n : int):
  %l : int[] = prim::ListConstruct(1, 2)
  %m : int[] = aten::append.t(%l, %n)
  %a : Tensor = aten::mean.dim(%x, %l, False, None)
  return (%a)""", None, []),
    ("a list that is appended to in a branch stays", "fold_containers", """
graph(%x : Tensor, %c : bool):
  %l : int[] = prim::ListConstruct(1, 2)
  %k : int[] = prim::If(%c)
    block0():
      %m : int[] = aten::append.t(%l, 3)
      -> (%l)
    block1():
      -> (%l)
  %a : Tensor = aten::mean.dim(%x, %k, False, None)
  return (%a)""", None, []),
    ("a list that is returned stays", "fold_containers", """
graph(%x : Tensor):
  %l : int[] = prim::ListConstruct(1, 2)
  return (%l)""", None, []),
    ("a tuple of ints may be returned", "fold_containers", """
graph(%x : Tensor):
  %l : (int, int) = prim::TupleConstruct(1, 2)
  return (%l)""", ["return ((1, 2))"], []),
    ("defaults at the end go", "trim_defaults", """
graph(%x : Tensor):
  %a : Tensor = aten::conv2d(%x, <float32[1, 1, 1, 1]>, None, [1, 1], [0, 0], [1, 1], 1)
  %b : Tensor = aten::add.Scalar(%a, 2, 1)
  %c : Tensor = aten::add.Scalar(%b, 2, 3)
  return (%c)""", ["aten::add.Scalar(%a, 2)", "aten::add.Scalar(%b, 2, 3)"], []),
    ("what nobody needs goes", "drop_dead", """
graph(%x : Tensor):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%a)
  return (%x)""", [], ["relu"]),
    ("writes stay", "drop_dead", """
graph(%x : Tensor):
  %a : Tensor = aten::relu_(%x)
  return (%x)""", None, []),
    ("random numbers, prints and raises stay", "drop_dead", """
graph(%x : Tensor):
  %a : Tensor = aten::bernoulli(%x, None)
  prim::Print(%x)
  prim::RaiseException("no", None)
  return (%x)""", None, []),
    ("a branch that writes stays", "drop_dead", """
graph(%x : Tensor, %c : bool):
  %r : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::relu_(%x)
      -> (%a)
    block1():
      -> (%x)
  return (%x)""", None, []),
    ("a constant that is written is state", "keep_written_constants", """
graph(%x : Tensor):
  %a : Tensor = aten::add_.Tensor(<float32[2] "w">, %x, 1)
  return (%a)""", ["= rush::get_attr(0)", "aten::add_.Tensor(%w, %x, 1)"], []),
    ("a constant written through a view is state", "keep_written_constants", """
graph(%x : Tensor):
  %v : Tensor = aten::select.int(<float32[2, 2] "w">, 0, 1)
  %a : Tensor = aten::add_.Tensor(%v, %x, 1)
  return (%a)""", ["aten::select.int(%w, 0, 1)"], []),
    ("a constant written through an item of a list is state", "keep_written_constants", """
graph(%x : Tensor):
  %l : Tensor[] = aten::chunk(<float32[2, 2] "w">, 2, 0)
  %u : Tensor, %v : Tensor = prim::ListUnpack(%l)
  %a : Tensor = aten::add_.Tensor(%v, %x, 1)
  return (%u)""", ["aten::chunk(%w, 2, 0)"], []),
    ("one that is cut and only read is none", "keep_written_constants", """
graph(%x : Tensor):
  %l : Tensor[] = aten::chunk(<float32[2, 2] "w">, 2, 0)
  %u : Tensor, %v : Tensor = prim::ListUnpack(%l)
  %a : Tensor = aten::add.Tensor(%v, %x, 1)
  return (%a)""", None, []),
    ("one in a list that grows may be written", "keep_written_constants", """
graph(%x : Tensor, %l : Tensor[]):
  %m : Tensor[] = aten::append.t(%l, <float32[2, 2] "w">)
  return (%x)""", ["rush::get_attr(0)"], []),
]

CONV = "<float32[4, 3, 3, 3] \"w\">"
CONV_ROWS = [
    ("a convolution", "fuse_conv", f"""
graph(%x : Tensor):
  %a : Tensor = aten::conv2d(%x, {CONV}, <float32[4]>, [2, 2], [1, 1], [1, 1], 1)
  return (%a)""", ["rush::conv(%x, ", "[2, 2], [1, 1, 1, 1], [1, 1], 1, -inf, inf)"], ["aten::conv2d"]),
    ("one int stands for all dimensions", "fuse_conv", f"""
graph(%x : Tensor):
  %a : Tensor = aten::conv2d(%x, {CONV}, None, [2], [1], [1], 1)
  return (%a)""", ["[2, 2], [1, 1, 1, 1], [1, 1], 1, -inf, inf)"], []),
    ("a 1-d convolution with groups", "fuse_conv", """
graph(%x : Tensor):
  %a : Tensor = aten::conv1d(%x, <float32[4, 2, 5]>, None, [1], [2], [1], 2)
  return (%a)""", ["[1], [2, 2], [1], 2, -inf, inf)"], []),
    ("the general form", "fuse_conv", f"""
graph(%x : Tensor):
  %a : Tensor = aten::_convolution(%x, {CONV}, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True)
  return (%a)""", ["rush::conv", "[1, 1], [0, 0, 0, 0], [1, 1], 1, -inf, inf)"], []),
    ("a transposed one stays", "fuse_conv", f"""
graph(%x : Tensor):
  %a : Tensor = aten::_convolution(%x, {CONV}, None, [1, 1], [0, 0], [1, 1], True, [0, 0], 1, False, False, True, True)
  return (%a)""", None, []),
    ("'same' puts the odd one behind", "fuse_conv", """
graph(%x : Tensor):
  %a : Tensor = aten::conv2d.padding(%x, <float32[1, 1, 4, 3]>, None, [1, 1], "same", [1, 2], 1)
  return (%a)""", ["[1, 1], [1, 2, 2, 2], [1, 2], 1, -inf, inf)"], []),
    ("'same' as tracing has it", "fuse_conv", """
graph(%x : Tensor):
  %a : Tensor = aten::_convolution_mode(%x, <float32[1, 1, 4, 3]>, None, [1, 1], "same", [1, 2], 1)
  return (%a)""", ["[1, 1], [1, 2, 2, 2], [1, 2], 1, -inf, inf)"], []),
    ("'valid' is none", "fuse_conv", f"""
graph(%x : Tensor):
  %a : Tensor = aten::conv2d.padding(%x, {CONV}, None, [2, 2], "valid", [1, 1], 1)
  return (%a)""", ["[2, 2], [0, 0, 0, 0], [1, 1], 1, -inf, inf)"], []),
    ("'same' with a stride stays, to be refused", "fuse_conv", f"""
graph(%x : Tensor):
  %a : Tensor = aten::conv2d.padding(%x, {CONV}, None, [2, 2], "same", [1, 1], 1)
  return (%a)""", None, []),
    ("a weight that is computed stays", "fuse_conv", """
graph(%x : Tensor, %w : Tensor):
  %a : Tensor = aten::conv2d(%x, %w, None, [1, 1], [0, 0], [1, 1], 1)
  return (%a)""", None, []),
    ("float64 stays", "fuse_conv", """
graph(%x : Tensor):
  %a : Tensor = aten::conv2d(%x, <float64[4, 3, 3, 3]>, None, [1, 1], [0, 0], [1, 1], 1)
  return (%a)""", None, []),
    ("a stride that is computed stays", "fuse_conv", f"""
graph(%x : Tensor, %n : int):
  %l : int[] = prim::ListConstruct(%n, %n)
  %a : Tensor = aten::conv2d(%x, {CONV}, None, %l, [0, 0], [1, 1], 1)
  return (%a)""", None, []),
]


def conv_then(name, op, args, bounds, more="", use="%b", weight_format=""):
    """A convolution followed by `op`. If bounds is None, the pass must not fuse it."""
    text = f"""
graph(%x : Tensor, %y : Tensor, %c : bool):
  %a : Tensor = rush::conv(%x, {CONV}, None, [1, 1], [0, 0, 0, 0], [1, 1], 1, -inf, inf{weight_format})
  %b : Tensor = {op}(%a{args})
{more}  return ({use})"""
    return (name, "fuse_conv", text, None if bounds is None else [bounds + ")"], [] if bounds is None else [op])


CONV_ROWS += [
    conv_then("relu", "aten::relu", "", "1, 0., inf"),
    conv_then("relu in place", "aten::relu_", "", "1, 0., inf"),
    conv_then("relu6", "aten::relu6", "", "1, 0., 6."),
    conv_then("hardtanh with its defaults", "aten::hardtanh", "", "1, -1., 1."),
    conv_then("hardtanh in place", "aten::hardtanh_", ", 0., 6.", "1, 0., 6."),
    conv_then("clamp to both sides", "aten::clamp", ", -2, 3.5", "1, -2., 3.5"),
    conv_then("clamp from above", "aten::clamp", ", None, 3", "1, -inf, 3."),
    conv_then("clamp_min", "aten::clamp_min", ", 1", "1, 1., inf"),
    conv_then("a clamp behind a weight that lies channels last", "aten::relu", "", "1, 0., inf, 2", weight_format=", 2"),
    conv_then("clamp with the bounds exchanged stays", "aten::clamp", ", 3, -2", None),
    conv_then("clamp by tensors stays", "aten::clamp.Tensor", ", %y, None", None),
    conv_then("clamp to NaN stays", "aten::clamp", ", nan, 3.", None),
    conv_then("another activation stays", "aten::gelu", ', "none"', None),
    conv_then("a convolution with a second use stays", "aten::relu", "", None,
              "  %d : Tensor = aten::add.Tensor(%a, %b, 1)\n", "%d"),
    conv_then("in place with a second use stays", "aten::relu_", "", None,
              "  %d : Tensor = aten::neg(%a)\n", "%d"),
    conv_then("a convolution that is returned too stays", "aten::relu", "", None, "", "%a"),
]


def pad_then(name, pad, between, padding, pad_uses=""):
    text = f"""
graph(%x : Tensor, %v : float):
  %p : Tensor = {pad}
{between}  %a : Tensor = rush::conv(%p, {CONV}, None, [1, 1], [1, 1, 0, 0], [1, 1], 1, -inf, inf)
{pad_uses}  return (%a)"""
    return (name, "fuse_conv", text, None if padding is None else [padding], [] if padding is None else ["pad("])


CONV_ROWS += [
    pad_then("a zero padding", 'aten::pad(%x, [1, 2, 3, 4], "constant", None)', "", "[4, 5, 1, 2]"),
    pad_then("a zero padding of the last dimension", 'aten::pad(%x, [1, 2], "constant", 0.)', "", "[1, 1, 1, 2]"),
    pad_then("constant_pad_nd", "aten::constant_pad_nd(%x, [0, 1, 0, 1], 0)", "", "[1, 2, 0, 1]"),
    pad_then("a padding with ones stays", "aten::constant_pad_nd(%x, [0, 1, 0, 1], 1)", "", None),
    pad_then("a padding with a computed value stays", "aten::constant_pad_nd(%x, [0, 1, 0, 1], %v)", "", None),
    pad_then("a padding that cuts stays", "aten::constant_pad_nd(%x, [0, -1, 0, 1], 0)", "", None),
    pad_then("a padding of the channels stays", "aten::constant_pad_nd(%x, [0, 1, 0, 1, 1, 1], 0)", "", None),
    pad_then("reflection stays", 'aten::pad(%x, [1, 2, 3, 4], "reflect", None)', "", None),
    pad_then("a padding with a second use stays", "aten::constant_pad_nd(%x, [0, 1, 0, 1], 0)", "", None,
             "  %q : Tensor = aten::add_.Tensor(%a, %p, 1)\n"),
    pad_then("a padding of what is written afterwards stays", "aten::constant_pad_nd(%x, [0, 1, 0, 1], 0)",
             "  %w : Tensor = aten::relu_(%x)\n", None),
]


ONE = '<float32[4, 3, 1, 1] "w">'


def scale_then(name, fused, scale="%x, %s", by=ONE, groups=1, stride=1, gate="aten::sigmoid", pool="aten::mean.dim(%x, [2, 3], True, None)",
               between="", use="%a"):
    """Multiplies an image by a gate of its mean, and convolves the product."""
    text = f"""
graph(%x : Tensor, %y : Tensor):
  %p : Tensor = {pool}
  %c : Tensor = rush::conv(%p, {ONE}, None, [1, 1], [0, 0, 0, 0], [1, 1], 1, 0., inf)
  %s : Tensor = {gate}(%c)
  %m : Tensor = aten::mul.Tensor({scale})
{between}  %a : Tensor = rush::conv(%m, {by}, None, [{stride}, 1], [0, 0, 0, 0], [1, 1], {groups}, -inf, inf)
  return ({use})"""
    return (name, "fuse_scale", text, [fused] if fused else None, ["aten::mul"] if fused else [])


SCALED = f"rush::scaled_conv(%x, %s, {ONE}, None, [1, 1], [0, 0, 0, 0], [1, 1], 1, -inf, inf)"
SCALE_ROWS = [
    scale_then("an excitation", SCALED),
    scale_then("an excitation that comes first", SCALED, scale="%s, %x"),
    scale_then("hard-sigmoid of a pooled image", SCALED, gate="aten::hardsigmoid", pool="aten::adaptive_avg_pool2d(%x, [1, 1])"),
    scale_then("a gate of the pixels stays", None, pool="aten::relu(%x)"),
    scale_then("a gate of an unknown operator stays", None, gate="aten::erf"),
    scale_then("SiLU stays", None, scale="%y, %y"),
    scale_then("an excitation of a 3x3 convolution stays", None, by='<float32[4, 3, 3, 3] "w">'),
    scale_then("an excitation of a convolution of groups stays", None, groups=3, by='<float32[3, 1, 1, 1] "w">'),
    scale_then("an excitation of a convolution of steps stays", None, stride=2),
    scale_then("an excitation that is read elsewhere stays", None, use="%a, %m"),
    scale_then("an excitation of what is written afterwards stays", None, between="  %w : Tensor = aten::relu_(%x)\n"),
]


def joined(name, grows, *, kept="%k, %x", dim="2", after="", use="%y"):
    """Returns a row in which an attribute grows by concatenation; `after` follows it."""
    text = f"""
graph(%x : Tensor):
  %k : Tensor = rush::get_attr(0)
  %l : Tensor[] = prim::ListConstruct({kept})
  %c : Tensor = aten::cat(%l, {dim})
{after}  %y : Tensor = aten::relu(%c)
  return ({use})"""
    return (name, "grow_cat", text, [f"rush::grow(%l, {dim})"] if grows else None, ["aten::cat"] if grows else [])


SET = "  rush::set_attr(0, %c)\n"
GROW_ROWS = [
    joined("a cache", True, after=SET),
    joined("a cache along the first dimension, of three", True, after=SET, kept="%k, %x, %x", dim="0"),
    joined("a cache of which a view is read", True, after="  %v : Tensor = aten::select.int(%c, 0, 0)\n" + SET),
    joined("what is not kept stays", False),
    joined("what a part of is kept stays", False, after="  %v : Tensor = aten::slice.Tensor(%c, 2, 1)\n  rush::set_attr(0, %v)\n"),
    joined("what another attribute keeps stays", False, after="  rush::set_attr(1, %c)\n"),
    joined("what is put in front stays", False, after=SET, kept="%x, %k"),
    joined("a cache that is returned stays", False, after=SET, use="%c"),
    joined("a cache of which a view is returned stays", False, after="  %v : Tensor = aten::select.int(%c, 0, 0)\n" + SET, use="%v"),
    joined("a cache that is written stays", False, after=SET + "  %w : Tensor = aten::mul_.Scalar(%c, 2)\n"),
]


def repeated(name, fused, *, key="aten::reshape(%e, %s)", expand="aten::expand(%u, %r)", mask="None", before="", between="", gqa="False", use="%y"):
    """Returns a row with attention over keys whose heads are repeated; the values' are repeated the same way."""
    text = f"""
graph(%q : Tensor, %k : Tensor, %v : Tensor, %b : int):
  %n : int = aten::size.int(%k, 2)
  %u : Tensor = aten::unsqueeze(%k, 2)
  %r : int[] = prim::ListConstruct(%b, 2, 3, %n, 8)
  %s : int[] = prim::ListConstruct(%b, 6, %n, 8)
  %e : Tensor = {expand}
{before}  %w : Tensor = {key}
  %p : Tensor = aten::unsqueeze(%v, 2)
  %f : Tensor = aten::expand(%p, %r)
  %x : Tensor = aten::reshape(%f, %s)
{between}  %y : Tensor = aten::scaled_dot_product_attention(%q, %w, %x, {mask}, 0., False, None, {gqa})
  return ({use})"""
    return (name, "fuse_attention", text, fused, [] if fused is None else ["aten::scaled"])


def repeats(mask="None"):
    return [f"rush::repeated_attention(%q, %e, %s, %f, %s, {mask}, 0., False, None)"]


ATTENTION_ROWS = [
    repeated("repeated heads", repeats()),
    repeated("repeated heads of torch.export", ["rush::repeated_attention(%q, %e, %s, %f, %s, None, 0., False, None)"], before="  %c : Tensor = aten::clone(%e, 0)\n",
             key="aten::view(%c, %s)"),
    repeated("repeated heads of which a mask reads the length", repeats("%m"), between="  %t : int = aten::size.int(%w, 2)\n  %m : Tensor = aten::slice.Tensor(%q, 3, 0, %t, 1)\n",
             mask="%m"),
    repeated("repeated heads of which an unknown size is read stay", None, between="  %t : int = aten::size.int(%w, 0)\n", use="%y, %t"),
    repeated("repeated heads that are read elsewhere stay", None, use="%y, %w"),
    repeated("repeated heads that are written stay", None, between="  %t : Tensor = aten::add_.Scalar(%k, 1, 1)\n"),
    repeated("heads that are not expanded stay", None, expand="aten::relu(%u)"),
    repeated("a view without a copy stays", None, key="aten::view(%e, %s)"),
    repeated("grouped queries stay", None, gqa="True"),
]


def rotated(name, fused, *, high="%x, 3, %h, 9223372036854775807, 1", low="%x, 3, 0, %h, 1", parts="%n, %l", between="", use="%y"):
    text = f"""
graph(%x : Tensor, %h : int, %g : int):
  %a : Tensor = aten::slice.Tensor({high})
  %l : Tensor = aten::slice.Tensor({low})
  %n : Tensor = aten::neg(%a)
  %c : Tensor[] = prim::ListConstruct({parts})
{between}  %y : Tensor = aten::cat(%c, -1)
  return ({use})"""
    return (name, "fuse_rotary", text, ["rush::rotate_half(%x, 3, %h, -1)"] if fused else None, ["aten::cat"] if fused else [])


ROTARY_ROWS = [
    rotated("rotary positions", True),
    rotated("rotary positions with defaults", True, high="%x, 3, %h, None", low="%x, 3, None, %h"),
    rotated("the halves in order stay", None, parts="%l, %n"),
    rotated("other halves stay", None, low="%x, 3, 0, %g, 1"),
    rotated("halves of different dimensions stay", None, low="%x, 2, 0, %h, 1"),
    rotated("halves with a step stay", None, high="%x, 3, %h, 9223372036854775807, 2"),
    rotated("a part of a half stays", None, high="%x, 3, %h, 7, 1"),
    rotated("a half from 1 stays", None, low="%x, 3, 1, %h, 1"),
    rotated("a half that is read elsewhere stays", None, use="%y, %l"),
    rotated("halves of a tensor that is written stay", None, between="  %w : Tensor = aten::mul_.Scalar(%x, 2)\n"),
]


def written_norm(name, fused, *, cast="aten::to.dtype(%i, 6, False, False, None)", square="aten::pow.Tensor_Scalar(%x, 2)", mean="%s, [-1], True, None",
                 add="%m, 0.5, 1", product="%x, %r", between="", use="%y"):
    text = f"""
graph(%i : Tensor):
  %x : Tensor = {cast}
  %s : Tensor = {square}
  %m : Tensor = aten::mean.dim({mean})
  %a : Tensor = aten::add.Scalar({add})
  %r : Tensor = aten::rsqrt(%a)
{between}  %y : Tensor = aten::mul.Tensor({product})
  return ({use})"""
    return (name, "fuse_rms_norm", text, ["rush::rms_norm(%x, 0.5)"] if fused else None, ["aten::mul.Tensor"] if fused else [])


RMS_NORM_ROWS = [
    written_norm("RMSNorm", True),
    written_norm("RMSNorm in the other order stays", None, product="%r, %x"),
    written_norm("RMSNorm of a dtype that is not known stays", None, cast="aten::relu(%i)"),
    written_norm("RMSNorm of float64 stays", None, cast="aten::to.dtype(%i, 7, False, False, None)"),
    written_norm("a mean of cubes stays", None, square="aten::pow.Tensor_Scalar(%x, 3)"),
    written_norm("squares of another tensor stay", None, square="aten::pow.Tensor_Scalar(%i, 2)"),
    written_norm("a mean of all stays", None, mean="%s, [-2, -1], True, None"),
    written_norm("a mean without its dimension stays", None, mean="%s, [-1], False, None"),
    written_norm("a mean of another dtype stays", None, mean="%s, [-1], True, 7"),
    written_norm("two times eps stays", None, add="%m, 0.5, 2"),
    written_norm("RMSNorm whose mean is read elsewhere stays", None, use="%y, %m"),
    written_norm("RMSNorm of a tensor that is written stays", None, between="  %w : Tensor = aten::mul_.Scalar(%x, 2)\n"),
]

LINEAR_ROWS = [
    ("linear", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = aten::linear(%x, <float32[4, 3] "w">, <float32[4]>)
  return (%a)""", ["rush::linear(%x, <float32[4, 3] \"w\">, <float32[4]>, -inf, inf)"], ["aten::linear"]),
    ("addmm", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = aten::addmm(<float32[4]>, %x, <float32[3, 4] "w">, 1, 1)
  return (%a)""", ["rush::linear(%x, <float32[4, 3] \"w\">, <float32[4]>, -inf, inf)"], []),
    ("addmm with a factor stays", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = aten::addmm(<float32[4]>, %x, <float32[3, 4]>, 1, 2)
  return (%a)""", None, []),
    ("addmm with a matrix to add stays", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = aten::addmm(<float32[2, 4]>, %x, <float32[3, 4]>, 1, 1)
  return (%a)""", None, []),
    ("addmm with a bias to broadcast stays", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = aten::addmm(<float32[1]>, %x, <float32[3, 4]>, 1, 1)
  return (%a)""", None, []),
    ("matmul, bias and relu", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = aten::matmul(%x, <float32[3, 4]>)
  %b : Tensor = aten::add.Tensor(<float32[4]>, %a, 1)
  %c : Tensor = aten::relu(%b)
  return (%c)""", ["rush::linear(%x, <float32[4, 3]>, <float32[4]>, 0., inf)"], ["aten::"]),
    ("+= a bias", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = aten::matmul(%x, <float32[3, 4]>)
  %b : Tensor = aten::add_.Tensor(%a, <float32[4]>, 1)
  return (%b)""", ["rush::linear(%x, <float32[4, 3]>, <float32[4]>, -inf, inf)"], ["add"]),
    ("a bias with alpha stays", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = rush::linear(%x, <float32[4, 3]>, None, -inf, inf)
  %b : Tensor = aten::add.Tensor(%a, <float32[4]>, 2)
  return (%b)""", None, []),
    ("an addend that broadcasts stays", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = rush::linear(%x, <float32[4, 3]>, None, -inf, inf)
  %b : Tensor = aten::add.Tensor(%a, <float32[1, 4]>, 1)
  return (%b)""", None, []),
    ("a product with a constant on the left stays", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = aten::matmul(<float32[3, 4]>, %x)
  return (%a)""", None, []),
    ("a product with a vector stays", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = aten::matmul(%x, <float32[4]>)
  return (%a)""", None, []),
    ("integers stay", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = aten::matmul(%x, <int64[3, 4]>)
  return (%a)""", None, []),
    ("a clamp behind a second use stays", "fuse_linear", """
graph(%x : Tensor):
  %a : Tensor = rush::linear(%x, <float32[4, 3]>, None, -inf, inf)
  %b : Tensor = aten::relu(%a)
  %c : Tensor = aten::add.Tensor(%a, %b, 1)
  return (%c)""", None, []),
]


NORM = "<float32[4] = 2>, <float32[4]>, <float32[4] = 1>, <float32[4] = 4>"


def conv_norm(name, conv, norm, has, has_not=(), use="%b"):
    text = f"""
graph(%x : Tensor):
  %a : Tensor = {conv}
  {norm}
  return ({use})"""
    return (name, "fold_batch_norm", text, has, has_not)


CONV2D = 'aten::conv2d(%x, <float32[4, 3, 1, 1] = 3 "w">, None, [1, 1], [0, 0], [1, 1], 1)'
BN = f"%b : Tensor = aten::batch_norm(%a, {NORM}, False, 0.1, 0., True)"
NORM_ROWS = [
    conv_norm("batch norm behind conv2d", CONV2D, BN,
              ['aten::conv2d(%x, <float32[4, 3, 1, 1] "w">, <float32[4] "w.folded_bias">'], ["batch_norm"]),
    conv_norm("batch norm behind convolution", 'aten::convolution(%x, <float32[4, 3, 1]>, <float32[4] "b">, [1], [0], [1], False, [0], 1)',
              BN, ['<float32[4] "b">'], ["batch_norm"]),
    conv_norm("batch norm without weights", CONV2D,
              "%b : Tensor = aten::batch_norm(%a, None, None, <float32[4]>, <float32[4] = 4>, False, 0.1, 0., True)", ["folded_bias"], ["batch_norm"]),
    conv_norm("batch norm as core ATen has it", CONV2D,
              f"%b : Tensor, %m : Tensor, %v : Tensor = aten::_native_batch_norm_legit_no_training(%a, {NORM}, 0.1, 0.)", ["folded_bias"], ["batch_norm"]),
    conv_norm("batch norm behind a linear of a matrix",
              'aten::flatten.using_ints(%x, 1, -1)\n  %f : Tensor = aten::relu(%a)\n  %l : Tensor = aten::linear(%f, <float32[4, 3] = 3 "w">, None)',
              BN.replace("%a", "%l"), ['aten::linear(%f, <float32[4, 3] "w">, <float32[4] "w.folded_bias">'], ["batch_norm"]),
    conv_norm("batch norm behind a linear of anything stays", 'aten::linear(%x, <float32[4, 3]>, None)', BN, None),
    conv_norm("batch norm behind a linear of what was a matrix stays",
              'aten::flatten.using_ints(%x, 1, -1)\n  %u : Tensor = aten::unsqueeze_(%a, 0)\n  %l : Tensor = aten::linear(%a, <float32[4, 3]>, None)',
              BN.replace("%a", "%l"), None),
    conv_norm("batch norm in training stays", CONV2D, BN.replace("False", "True"), None),
    conv_norm("batch norm of its batch stays", CONV2D,
              "%b : Tensor = aten::batch_norm(%a, None, None, None, None, False, 0.1, 0., True)", None),
    conv_norm("batch norm behind a second use stays", CONV2D, BN, None, use="%a, %b"),
    conv_norm("batch norm behind a transposed convolution stays",
              "aten::convolution(%x, <float32[3, 4, 1]>, None, [1], [0], [1], True, [0], 1)", BN, None),
]


def iterations(n, end="return (%y{n})"):
    """Returns the graph of y = y * 2 + i for i in range(n), unrolled."""
    lines = [f"  %m{i} : Tensor = aten::mul.Scalar(%y{i}, 2)\n  %y{i + 1} : Tensor = aten::add.Scalar(%m{i}, {i})" for i in range(n)]
    return "\n".join(["graph(%y0 : Tensor):", *lines, "  " + end.format(n=n)])


REROLL_ROWS = [
    ("unrolled iterations are a loop", "reroll_loops", iterations(500), ["prim::Loop(500, True, %y0)", "aten::add.Scalar(%m0, %iteration)"], ["%m1"]),
    ("a few iterations stay", "reroll_loops", iterations(499), None, []),
    ("what an iteration in the middle gives is no loop's", "reroll_loops", iterations(500, end="return (%y{n}, %y250)"), None, []),
    ("what the last iterations give is", "reroll_loops", iterations(501, end="return (%y{n}, %y500)"), ["prim::Loop(501, True, %y0, None)"], ["%m1"]),
    ("iterations with numbers that do not count stay", "reroll_loops", iterations(500).replace("%m250, 250", "%m250, 251"), None, []),
]


@pytest.mark.parametrize("name,pass_,text,has,has_not", ROWS + REROLL_ROWS + CONV_ROWS + SCALE_ROWS + GROW_ROWS + ATTENTION_ROWS + ROTARY_ROWS + RMS_NORM_ROWS + LINEAR_ROWS + NORM_ROWS,
                         ids=lambda v: v if isinstance(v, str) and len(v) < 80 and "\n" not in v else "")
def test_pass(name, pass_, text, has, has_not):
    before, _ = run_pass(text, "none")
    after, changed = run_pass(text, pass_)
    assert changed == (has is not None), after
    if has is None:
        assert after == before
    for part in has or []:
        assert part in after, after
    for part in has_not:
        assert part not in after, after
    again, changed = run_pass(after, pass_)
    assert not changed, again


def test_text_is_read_back():
    text = """graph(%x : Tensor, %n : int, %d : Dict(str, Tensor[])):
  %a : Tensor, %b : Tensor? = my::op(%x, [1, 2], [1., 2.5], [], (1, "a\\n\\"b"), {"k": 1}, -inf, nan, device("cpu"))
  %r : (int, P(x : int, y : float)) = prim::Loop(10, True, %n)
    block0(%i : int, %c : int):
      %e : int = aten::add.int(%c, %i)
      -> (True, %e)
  return (%r)
""".replace("[], ", "[]:int[], ")
    printed, _ = run_pass(text, "none")
    assert printed == text


@pytest.mark.parametrize("text,message", [
    ("graph(%x : Tensor):\n  %a : Tensor = aten::relu(%y)\n  return (%a)", "a value defined before"),
    ("graph(%x : Tensor):\n  %a : Tensor = aten::relu(%x, %x)\n  return (%a)", "it must have at most 1 arguments, got 2"),
    ("graph(%x : Tensor):\n  %a : Tensor = aten::add.Tensor(%x)\n  return (%a)", "argument 'other' is missing"),
    ("graph(%x : Tensor):\n  %a : Tensor, %b : Tensor = aten::relu(%x)\n  return (%a)", "it must have 1 results, got 2"),
    ("graph(%x : Wrong):\n  return (%x)", "a type instead of 'Wrong'"),
])
def test_a_damaged_graph_is_refused(text, message):
    with pytest.raises(Exception, match=message):
        run_pass(text, "none")
