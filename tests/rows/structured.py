"""Draws arguments that depend on each other. Each such operator has a function of a Draw, which returns {name: value}. All
other arguments are drawn from the schema."""

import re

import torch

FLOAT_WEIGHTS = {torch.float32: 6, torch.float64: 2, torch.float16: 1, torch.bfloat16: 1}
BY_NAME = {}


def of(*names):
    """Registers a function for operators. A name without a namespace belongs to aten."""
    def keep(function):
        for name in names:
            BY_NAME[name if "::" in name else f"aten::{name}"] = function
        return function
    return keep


def of_dims(names, dims=(1, 2, 3), **options):
    """Registers a function for names with {n}. Its second argument is the number of dimensions."""
    def keep(function):
        for n in dims:
            for name in names:
                BY_NAME[f"aten::{name.format(n=n)}"] = lambda d, n=n, name=name: function(d, n, name, **options)
        return function
    return keep


def float_dtype(d, more=()):
    d.dtype = d.pick([*FLOAT_WEIGHTS, *more], [*FLOAT_WEIGHTS.values(), *(1 for _ in more)])
    return d.dtype


def several(d, n, lo, hi):
    return [d.int(lo, hi) for _ in range(n)]


def maybe_tensor(d, shape, **options):
    return d.tensor(shape, **options) if d.maybe(0.7) else None


# ---- Convolutions and pools ----------------------------------------------------------------------

def convolution(d, n, transposed, batch=True):
    float_dtype(d, (torch.complex64,))
    groups = d.pick((1, 1, 1, 2, 3))
    ins, outs = groups * d.int(1, 3), groups * d.int(1, 3)
    kernel, size = several(d, n, 1, 3), several(d, n, 1, 8)
    head = ([d.int(0, 3)] if batch or d.maybe(0.8) else []) + [ins]
    weight = [ins, outs // groups] if transposed else [outs, ins // groups]
    stride = several(d, n, 1, 3)
    return {"input": d.tensor(head + size, special=False), "weight": d.tensor(weight + kernel, special=False),
            "bias": maybe_tensor(d, [outs], special=False), "stride": stride, "padding": several(d, n, 0, 2), "dilation": several(d, n, 1, 2),
            "groups": groups, "transposed": transposed, "output_padding": [d.int(0, max(0, s - 1)) if transposed else 0 for s in stride]}


@of_dims(["conv{n}d"])
def conv(d, n, name):
    return convolution(d, n, False, batch=False)


@of_dims(["conv{n}d.padding"])
def conv_padding(d, n, name):
    out = convolution(d, n, False, batch=False)
    out["padding"] = d.pick(("valid", "same"))
    if out["padding"] == "same":
        out["stride"] = [1] * n
    return out


@of("_convolution_mode")
def convolution_mode(d):
    return conv_padding(d, d.int(1, 3), "")


@of("convolution", "_convolution", "_convolution.deprecated")
def any_convolution(d):
    return convolution(d, d.int(1, 3), d.maybe(0.4))


for _n, _name in ((1, "conv_transpose1d"), (2, "conv_transpose2d.input"), (3, "conv_transpose3d.input")):
    BY_NAME[f"aten::{_name}"] = lambda d, n=_n: convolution(d, n, True, batch=False)


@of("conv_tbc")
def conv_tbc(d):
    float_dtype(d)
    k, ins, outs = d.int(1, 3), d.int(1, 4), d.int(1, 4)
    return {"self": d.tensor([d.int(k, 8), d.int(1, 3), ins], special=False), "weight": d.tensor([k, ins, outs], special=False),
            "bias": d.tensor([outs], special=False), "pad": d.int(0, 2)}


def image(d, n, least=1, most=9, batch=0.8, dtype=None):
    return d.tensor(([d.int(0, 3)] if d.maybe(batch) else []) + [d.int(1, 4)] + several(d, n, least, most), dtype)


@of_dims(["max_pool{n}d", "max_pool{n}d_with_indices", "avg_pool{n}d"])
def pool(d, n, name):
    float_dtype(d, (torch.int64, torch.uint8))
    kernel = several(d, n, 1, 3)
    out = {"self": image(d, n, 2), "kernel_size": d.pick((kernel, kernel[:1])), "stride": d.pick(([], several(d, n, 1, 3))),
           "padding": [d.int(0, k // 2) for k in kernel], "ceil_mode": d.maybe(0.3)}
    if name.startswith("max"):
        out["dilation"] = several(d, n, 1, 2)
    elif n > 1:
        out["divisor_override"] = d.pick((None, None, 3, -2))
    if len(out["kernel_size"]) != n:
        out["padding"] = [0] * n
    return out


@of_dims(["adaptive_max_pool{n}d", "adaptive_avg_pool{n}d", "_adaptive_avg_pool{n}d"])
def adaptive_pool(d, n, name):
    float_dtype(d)
    return {"self": image(d, n), "output_size": several(d, n, 1, 5)}


@of("pad", "constant_pad_nd", "_pad_circular")
def pad(d):
    rank = max(1, len(d.shape))
    d.shape = d.shape or (4,)
    n = d.int(1, rank)
    return {"pad": several(d, 2 * n, 0, 2) if d.maybe(0.7) else several(d, 2 * n, -1, 2)}


for _n in (1, 2, 3):
    for _name in ("reflection", "replication"):
        BY_NAME[f"aten::{_name}_pad{_n}d"] = lambda d, n=_n: {"self": image(d, n, 2), "padding": several(d, 2 * n, 0, 2)}


def resized(d, n, output_names):
    float_dtype(d, (torch.uint8,))
    x, size = image(d, n, batch=1), several(d, n, 1, 9)
    if d.maybe(0.2) and d.dtype != torch.uint8:
        x = x.contiguous()
    out = {"output_size": size, "align_corners": d.maybe()}
    for name, k in zip(output_names, range(n)):
        out[name] = None if d.maybe() else size[k] / x.shape[2 + k]
    return x, out


UPSAMPLE = {1: ("upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_linear1d"),
            2: ("upsample_nearest2d", "_upsample_nearest_exact2d", "upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"),
            3: ("upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_trilinear3d")}


def upsample(d, n):
    x, out = resized(d, n, {1: ["scales"], 2: ["scales_h", "scales_w"], 3: ["scales_d", "scales_h", "scales_w"]}[n])
    return {**out, "self": x}


def upsample_vec(d, n):
    x, out = resized(d, n, [])
    if d.maybe():
        return {**out, "input": x, "scale_factors": None}
    return {"input": x, "output_size": None, "align_corners": out["align_corners"], "scale_factors": [d.pick((0.5, 2.0, 1.3, 0.7, 1.0)) for _ in range(n)]}


for _n, _names in UPSAMPLE.items():
    for _name in _names:
        BY_NAME[f"aten::{_name}"] = lambda d, n=_n: upsample(d, n)
        BY_NAME[f"aten::{_name}.vec"] = lambda d, n=_n: upsample_vec(d, n)


def sampled(d, n):
    float_dtype(d)
    batch = d.int(1, 2)
    x = d.tensor([batch, d.int(1, 3), *several(d, n, 1, 6)], special=False)
    return {"input": x, "grid": d.tensor([batch, *several(d, n, 1, 4), n], lo=-1.4, hi=1.4), "interpolation_mode": d.int(0, 2 if n == 2 else 1),
            "padding_mode": d.int(0, 2)}


BY_NAME["aten::grid_sampler"] = lambda d: sampled(d, d.int(2, 3))
BY_NAME["aten::grid_sampler_2d"] = lambda d: sampled(d, 2)
BY_NAME["aten::grid_sampler_3d"] = lambda d: sampled(d, 3)


@of("pixel_shuffle")
def pixel_shuffle(d):
    r = d.int(1, 3)
    return {"self": d.tensor([*several(d, d.int(0, 2), 0, 2), r * r * d.int(1, 2), *several(d, 2, 0, 4)]), "upscale_factor": r}


@of("pixel_unshuffle")
def pixel_unshuffle(d):
    r = d.int(1, 3)
    return {"self": d.tensor([*several(d, d.int(0, 2), 0, 2), d.int(1, 3), r * d.int(0, 3), r * d.int(1, 3)]), "downscale_factor": r}


@of("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(d):
    g = d.int(1, 3)
    return {"self": d.tensor([d.int(1, 2), g * d.int(1, 3), *several(d, d.int(1, 2), 1, 4)]), "groups": g}


# ---- Layers --------------------------------------------------------------------------------------

@of("linear")
def linear(d):
    float_dtype(d, (torch.complex64,))
    ins, outs = d.int(0, 9), d.int(1, 9)
    return {"input": d.tensor([*several(d, d.int(0, 3), 0, 5), ins], special=False), "weight": d.tensor([outs, ins], special=False),
            "bias": maybe_tensor(d, [outs], special=False)}


@of("embedding")
def embedding(d):
    n = d.int(1, 6)
    return {"weight": d.tensor([n, d.int(0, 5)]), "indices": d.tensor(d.new_shape(0, 3), d.pick((torch.int64, torch.int32)), lo=0, hi=n - 1), "padding_idx": -1}


@of("scaled_dot_product_attention")
def attention(d):
    float_dtype(d)
    head, (length, keys), size = several(d, d.int(1, 2), 1, 3), several(d, 2, 1, 6), d.int(1, 8)
    mask = d.pick((None, d.tensor([length, keys], special=False), d.tensor([length, keys], torch.bool)))
    return {"query": d.tensor([*head, length, size], special=False), "key": d.tensor([*head, keys, size], special=False),
            "value": d.tensor([*head, keys, d.pick((size, d.int(1, 5)))], special=False), "attn_mask": mask, "dropout_p": 0.0,
            "is_causal": mask is None and d.maybe(), "scale": d.pick((None, 0.3)), "enable_gqa": False}


@of("layer_norm", "native_layer_norm", "rms_norm")
def layer_norm(d):
    float_dtype(d)
    tail = several(d, d.int(1, 2), 1, 5)
    return {"input": d.tensor([*several(d, d.int(0, 2), 0, 4), *tail], special=False), "normalized_shape": tail,
            "weight": maybe_tensor(d, tail, special=False), "bias": maybe_tensor(d, tail, special=False), "eps": d.pick((1e-5, 1e-3))}


@of("batch_norm", "native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training", "instance_norm")
def batch_norm(d):
    d.dtype = d.pick((torch.float32, torch.float32, torch.float64))
    c = d.int(1, 4)
    x = d.tensor([d.int(1, 3), c, *several(d, d.int(1, 3), 1, 4)], special=False)
    mean, var = d.tensor([c], special=False), d.tensor([c], lo=0.1, hi=3)
    return {"input": x, "weight": maybe_tensor(d, [c], special=False), "bias": maybe_tensor(d, [c], special=False), "running_mean": mean, "running_var": var,
            "eps": d.pick((1e-5, 1e-2)), "momentum": d.pick((0.1, 0.5)), "cudnn_enabled": True}


@of("group_norm")
def group_norm(d):
    float_dtype(d)
    g = d.int(1, 3)
    c = g * d.int(1, 3)
    return {"input": d.tensor([d.int(1, 3), c, *several(d, d.int(0, 2), 1, 4)], special=False), "num_groups": g, "weight": maybe_tensor(d, [c], special=False),
            "bias": maybe_tensor(d, [c], special=False), "eps": d.pick((1e-5, 1e-2))}


@of("native_group_norm")
def native_group_norm(d):
    out = group_norm(d)
    x = out.pop("input")
    n, c, *rest = x.shape
    return {**out, "input": x, "N": n, "C": c, "HxW": torch.Size(rest).numel(), "group": out.pop("num_groups")}


@of("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "native_dropout")
def dropout(d):
    float_dtype(d)
    return {"p": d.pick((0.0, 0.3, 0.9)), "input": d.tensor([d.int(1, 4), *several(d, d.int(1, 3), 1, 5)], special=False)}


# ---- Recurrent layers ----------------------------------------------------------------------------

def recurrent(d, gates, packed):
    d.dtype = d.pick((torch.float32, torch.float32, torch.float64))
    layers, both, size, hidden, biases = d.int(1, 2), d.maybe(0.4), d.int(1, 5), d.int(1, 5), d.maybe(0.7)
    length, batch, first = d.int(1, 5), d.int(1, 3), d.maybe(0.4)

    def t(*shape):
        return d.tensor(shape, special=False, layout=False)

    params, directions = [], 1 + both
    for layer in range(layers):
        for _ in range(directions):
            params += [t(gates * hidden, hidden * directions if layer else size), t(gates * hidden, hidden)]
            params += [t(gates * hidden), t(gates * hidden)] if biases else []
    h = t(layers * directions, batch, hidden)
    out = {"params": params, "has_biases": biases, "num_layers": layers, "dropout": 0.0, "train": False, "bidirectional": both, "batch_first": first,
           "hx": [h, t(layers * directions, batch, hidden)] if gates == 4 else h}
    if packed:
        lengths = sorted(several(d, batch, 1, length), reverse=True)
        sizes = [sum(n > k for n in lengths) for k in range(lengths[0])]
        return {**out, "data": t(sum(sizes), size), "batch_sizes": torch.tensor(sizes)}
    return {**out, "input": d.tensor([batch, length, size] if first else [length, batch, size], special=False)}


for _name, _gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
    BY_NAME[f"aten::{_name}.input"] = lambda d, g=_gates: recurrent(d, g, False)
    BY_NAME[f"aten::{_name}.data"] = lambda d, g=_gates: recurrent(d, g, True)


def cell(d, gates):
    d.dtype = d.pick((torch.float32, torch.float32, torch.float64))
    batch, size, hidden = several(d, 3, 1, 5)
    h, biases = d.tensor([batch, hidden], special=False), d.maybe(0.7)

    def bias():
        return d.tensor([gates * hidden], special=False) if biases else None

    return {"input": d.tensor([batch, size], special=False), "hx": [h, d.tensor([batch, hidden], special=False)] if gates == 4 else h,
            "w_ih": d.tensor([gates * hidden, size], special=False), "w_hh": d.tensor([gates * hidden, hidden], special=False), "b_ih": bias(), "b_hh": bias()}


for _name, _gates in (("lstm_cell", 4), ("gru_cell", 3), ("rnn_tanh_cell", 1), ("rnn_relu_cell", 1)):
    BY_NAME[f"aten::{_name}"] = lambda d, g=_gates: cell(d, g)


@of("_pack_padded_sequence")
def pack(d):
    length, batch, first = d.int(1, 5), d.int(1, 4), d.maybe()
    lengths = sorted(several(d, batch, 1, length), reverse=True)
    return {"input": d.tensor([batch, length, d.int(1, 3)] if first else [length, batch, d.int(1, 3)]), "lengths": torch.tensor(lengths), "batch_first": first}


@of("_pad_packed_sequence")
def unpack(d):
    lengths = sorted(several(d, d.int(1, 4), 1, 5), reverse=True)
    sizes = [sum(n > k for n in lengths) for k in range(lengths[0])]
    return {"data": d.tensor([sum(sizes), d.int(1, 3)]), "batch_sizes": torch.tensor(sizes), "total_length": d.pick((-1, len(sizes), len(sizes) + 2)),
            "padding_value": d.pick((0.0, 1, -2.5))}


# ---- Indexing ------------------------------------------------------------------------------------

def some_shape(d, least=1, most=3):
    d.shape = tuple(several(d, d.int(least, most), 1, 5))
    return d.shape


def along(d, x, dim, shape):
    return d.tensor(shape, torch.int64, lo=0, hi=max(0, x.shape[dim] - 1))


@of("gather", "take_along_dim", "scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce", "scatter_add", "scatter_reduce.two")
def gather(d):
    shape = some_shape(d)
    x, dim = d.tensor(), d.axis()
    index = along(d, x, dim, [d.int(0, n) if k != dim % len(shape) else d.int(0, 6) for k, n in enumerate(shape)])
    src = d.tensor([n + d.int(0, 2) for n in index.shape])
    out = {"self": x, "dim": dim, "index": index, "indices": index, "src": src}
    return out


BY_NAME["aten::scatter.reduce"] = BY_NAME["aten::scatter.value_reduce"] = lambda d: {**gather(d), "reduce": d.pick(("add", "multiply"))}
BY_NAME["aten::scatter_reduce.two"] = lambda d: {**gather(d), "reduce": d.pick(("sum", "prod", "mean", "amax", "amin"))}


@of("take_along_dim")
def take_along(d):
    out = gather(d)
    shape = list(out["self"].shape)
    shape[out["dim"]] = d.int(0, 4)
    return {**out, "indices": along(d, out["self"], out["dim"], shape)}


@of("index_select", "index_add", "index_copy", "index_reduce", "index_fill.int_Scalar", "index_fill.int_Tensor")
def along_one(d):
    shape = list(some_shape(d))
    x, dim, n = d.tensor(), d.axis(), d.int(0, 4)
    index = d.tensor([n], torch.int64, lo=0, hi=shape[dim] - 1)
    source = list(shape)
    source[dim] = n
    return {"self": x, "dim": dim, "index": index, "source": d.tensor(source), "value": d.tensor([]), "reduce": d.pick(("prod", "mean", "amax", "amin"))}


BY_NAME["aten::index_fill.int_Scalar"] = lambda d: {**along_one(d), "value": d.number()}


@of("index_copy")
def index_copy(d):
    out = along_one(d)  # each position is written once, because the order of writes is undefined
    n = out["self"].shape[out["dim"]]
    index = torch.randperm(n, generator=d.generator)[:out["index"].numel()]
    shape = list(out["source"].shape)
    shape[out["dim"]] = index.numel()
    return {**out, "index": index, "source": d.tensor(shape)}


@of("take", "put")
def flat(d):
    some_shape(d)
    x = d.tensor()
    accumulate = d.maybe()
    n = d.int(0, x.numel())
    index = torch.randperm(x.numel(), generator=d.generator)[:n]
    return {"self": x, "index": index - x.numel() if d.maybe(0.3) else index, "source": d.tensor([n]), "accumulate": accumulate}


@of("index.Tensor_hacked_twin", "_unsafe_index.Tensor_hacked_twin", "index.Tensor", "_unsafe_index.Tensor")
def index(d):
    shape, common = some_shape(d), d.pick(([], [3], [2, 1], [0]))
    return {"self": d.tensor(), "indices": [d.tensor(common, torch.int64, lo=-n, hi=n - 1) for n in shape[:d.int(1, len(shape))]]}


@of("index_put", "index_put.hacked_twin", "_unsafe_index_put", "_unsafe_index_put.hacked_twin", "_index_put_impl_", "_index_put_impl_.hacked_twin")
def index_put(d):
    shape = some_shape(d)
    x, taken = d.tensor(layout=False), d.int(1, len(shape))
    n = d.int(0, min(shape[:taken]))  # each position once
    indices = [torch.randperm(s, generator=d.generator)[:n] for s in shape[:taken]]
    return {"self": x, "indices": indices, "values": d.tensor(d.pick(([], [n, *shape[taken:]])))}


def slice_scatter(d):
    shape = list(some_shape(d))
    dim, step = d.int(0, len(shape) - 1), d.int(1, 2)
    start, end = sorted(several(d, 2, 0, shape[dim]))
    part = list(shape)
    part[dim] = len(range(start, end, step))
    return {"self": d.tensor(), "dim": dim, "start": start, "end": end, "step": step, "src": d.tensor(part)}


def select_scatter(d):
    shape = list(some_shape(d))
    dim = d.axis()
    n = shape.pop(dim)
    return {"self": d.tensor(), "dim": dim, "index": d.int(-n, n - 1), "src": d.tensor(shape)}


def diagonal_scatter(d):
    some_shape(d, 2)
    x, offset = d.tensor(), d.int(-1, 1)
    return {"self": x, "offset": offset, "dim1": 0, "dim2": 1, "src": d.tensor(x.diagonal(offset).shape)}


BY_NAME.update({"aten::slice_scatter": slice_scatter, "aten::select_scatter": select_scatter, "aten::diagonal_scatter": diagonal_scatter})


@of("masked_scatter")
def masked_scatter(d):
    some_shape(d)
    return {"self": d.tensor(), "mask": d.tensor(dtype=torch.bool), "source": d.tensor([d.tensor().numel()])}


@of("masked_select", "masked_fill.Scalar", "masked_fill.Tensor")
def masked(d):
    return {"self": d.tensor(), "mask": d.tensor(d.related_shape(), torch.bool), "value": d.number() if d.maybe() else d.tensor([])}


BY_NAME["aten::masked_fill.Scalar"] = lambda d: {**masked(d), "value": d.number()}
BY_NAME["aten::masked_fill.Tensor"] = lambda d: {**masked(d), "value": d.tensor([])}
BY_NAME["aten::masked_select"] = masked


# ---- Matrices ------------------------------------------------------------------------------------

def matrix_dtype(d):
    d.dtype = d.pick((torch.float32, torch.float64, torch.int64, torch.bfloat16, torch.float16, torch.complex64), (6, 2, 1, 1, 1, 1))


def m(d, *shape):
    return d.tensor(shape, special=False)


def with_scales(d, out):
    numbers = (0, 1, 2, -1) if not d.dtype.is_floating_point else (0, 1, 0.5, -2.0)
    return {**out, "beta": d.pick(numbers), "alpha": d.pick(numbers)}


def sizes(d):
    matrix_dtype(d)
    return several(d, 3, 0, 7)


def mm(d):
    a, b, c = sizes(d)
    return {"self": m(d, a, b), "mat2": m(d, b, c)}


def addmm(d):
    a, b, c = sizes(d)
    return with_scales(d, {"self": m(d, *d.pick(([a, c], [c], [1, c], []), (3, 1, 1, 1))), "mat1": m(d, a, b), "mat2": m(d, b, c)})


def bmm(d):
    a, b, c = sizes(d)
    n = d.int(0, 3)
    out = {"mat2": m(d, n, b, c), "batch1": m(d, n, a, b), "batch2": m(d, n, b, c)}
    return with_scales(d, {**out, "self": m(d, n, a, b)})


def baddbmm(d):
    out = bmm(d)
    n, a, _ = out["batch1"].shape
    c = out["batch2"].shape[2]
    return {**out, "self": m(d, *d.pick(([n, a, c], [c])))}


def addbmm(d):
    out = baddbmm(d)
    return {**out, "self": m(d, out["batch1"].shape[1], out["batch2"].shape[2])}


def matmul(d):
    a, b, c = sizes(d)
    left = d.pick(([b], [a, b], [2, a, b], [3, 1, a, b]))
    right = d.pick(([b], [b, c], [2, b, c]))
    return {"self": m(d, *left), "other": m(d, *right)}


def vectors(d):
    a, b, _ = sizes(d)
    return with_scales(d, {"self": m(d, a), "vec2": m(d, b), "tensor": m(d, a), "mat": m(d, a, b), "vec": m(d, b)})


def addmv(d):
    a, b, _ = sizes(d)
    return with_scales(d, {"self": m(d, *d.pick(([a], []), (4, 1))), "mat": m(d, a, b), "vec": m(d, b)})


BY_NAME.update({"aten::mm": mm, "aten::addmm": addmm, "aten::bmm": bmm, "aten::baddbmm": baddbmm, "aten::addbmm": addbmm, "aten::matmul": matmul,
                "aten::linalg_matmul": matmul, "aten::addmv": addmv, "aten::outer": vectors, "aten::ger": vectors, "aten::dot": vectors,
                "aten::mv": lambda d: (lambda out: {"self": out["mat"], "vec": out["vec"]})(vectors(d))})


@of("einsum")
def einsum(d):
    matrix_dtype(d)
    equation = d.pick(("ij,jk->ik", "bij,bjk->bik", "ij->ji", "ii->i", "i,i->", "ij,ij->i", "bhqd,bhkd->bhqk", "i,j->ij", "...ij,...jk->...ik", "ij->"))
    size = dict(zip("ijkbhqd", several(d, 7, 1, 4)))
    shapes = [[size[c] for c in term.replace("...", "")] for term in equation.split("->")[0].split(",")]
    return {"equation": equation, "tensors": [m(d, *s) for s in shapes], "path": None}


def square(d, batch=True, complexes=True):
    d.dtype = d.pick((torch.float32, torch.float64, torch.complex64), (3, 3, 1 if complexes else 0))
    n = d.int(1, 5)
    return m(d, *(several(d, d.int(0, 1), 1, 2) if batch else []), n, n)


def definite(d):
    a = square(d)
    return a @ a.mH + torch.eye(a.shape[-1], dtype=a.dtype)


BY_NAME.update({
    "aten::linalg_lu_factor_ex": lambda d: {"A": square(d), "pivot": True, "check_errors": False},
    "aten::linalg_cholesky_ex": lambda d: {"self": definite(d), "check_errors": False},
    "aten::_linalg_eigh": lambda d: {"A": definite(d), "compute_v": False},
    "aten::_linalg_svd": lambda d: {"A": square(d), "compute_uv": False, "driver": None},
    "aten::linalg_eig": lambda d: {"self": square(d, complexes=False)},
    "aten::linalg_eigvals": lambda d: {"self": square(d, complexes=False)},
    "aten::geqrf": lambda d: {"self": square(d)},
    "aten::linalg_ldl_factor_ex": lambda d: {"self": definite(d), "hermitian": False, "check_errors": False},
})


@of("linalg_solve_triangular")
def solve_triangular(d):
    a, upper, left = square(d, batch=False), d.maybe(), d.maybe()
    n, k = a.shape[-1], d.int(1, 3)
    a = (torch.triu(a) if upper else torch.tril(a)) + 3 * torch.eye(n, dtype=a.dtype)
    return {"self": a, "B": m(d, *([n, k] if left else [k, n])), "upper": upper, "left": left}


@of("ormqr")
def ormqr(d):
    h, tau = torch.geqrf(square(d, batch=False, complexes=False))
    n, k, left = h.shape[-1], d.int(1, 3), d.maybe()
    return {"self": h, "input2": tau, "input3": m(d, *([n, k] if left else [k, n])), "left": left}


@of("linalg_ldl_solve")
def ldl_solve(d):
    ld, pivots, _ = torch.linalg.ldl_factor_ex(definite(d))
    return {"LD": ld, "pivots": pivots, "B": m(d, *ld.shape[:-1], d.int(1, 3)), "hermitian": False}


def complex_lines(d):
    d.dtype = d.pick((torch.complex64, torch.complex128))
    some_shape(d)
    return {"self": d.tensor(special=False), "dim": d.rng.sample(range(len(d.shape)), d.int(1, len(d.shape))), "normalization": d.int(0, 2)}


def real_lines(d):
    d.dtype = d.pick((torch.float32, torch.float64))
    some_shape(d)
    return {"self": d.tensor(special=False), "dim": d.rng.sample(range(len(d.shape)), d.int(1, len(d.shape))), "normalization": d.int(0, 2)}


def half_lines(d):
    out = complex_lines(d)
    n = out["self"].shape[out["dim"][-1]]
    return {**out, "last_dim_size": d.pick([k for k in (2 * n - 2, 2 * n - 1) if k > 0])}


BY_NAME.update({"aten::_fft_c2c": complex_lines, "aten::_fft_r2c": real_lines, "aten::_fft_c2r": half_lines})


@of("view_as_complex")
def pairs(d):
    x = d.tensor([*d.new_shape(0, 3), 2], d.pick((torch.float32, torch.float64)), layout=False)
    return {"self": x[::2] if x.dim() > 1 and d.maybe(0.3) else x}


@of("one_hot")
def classes(d):
    return {"self": d.tensor(d.new_shape(0, 3), torch.int64, lo=0, hi=5), "num_classes": d.pick((-1, 6, 9))}


@of("multinomial")
def multinomial(d):
    float_dtype(d)
    shape, replacement = several(d, d.int(1, 2), 1, 6), d.maybe()
    return {"self": d.tensor(shape, lo=0.05, hi=1), "replacement": replacement, "num_samples": d.int(1, 6 if replacement else shape[-1])}


# ---- Sorting -------------------------------------------------------------------------------------

@of("topk", "kthvalue")
def some_of(d):
    some_shape(d)
    x, dim = d.tensor(), d.axis()
    return {"self": x, "dim": dim, "k": d.int(1, x.shape[dim])}


@of("searchsorted.Tensor", "searchsorted.Scalar", "bucketize.Tensor", "bucketize.Scalar")
def sorted_places(d):
    d.dtype = d.pick((torch.float32, torch.int64, torch.float64))
    lines = several(d, d.int(0, 1), 1, 3)
    line = torch.sort(d.tensor([*lines, d.int(1, 8)], special=False))[0]
    side = d.pick(("left", "right", None))
    return {"sorted_sequence": line, "boundaries": line.flatten().sort()[0], "self": d.tensor([*lines, d.int(0, 5)], special=False), "side": side,
            "right": side == "right", "sorter": None}


BY_NAME["aten::searchsorted.Scalar"] = lambda d: {**sorted_places(d), "sorted_sequence": torch.sort(d.tensor([d.int(1, 8)], special=False))[0], "self": d.number()}
BY_NAME["aten::bucketize.Scalar"] = lambda d: {**sorted_places(d), "self": d.number()}


@of("bincount")
def bincount(d):
    n = d.int(0, 9)
    return {"self": d.tensor([n], d.pick((torch.int64, torch.int32, torch.uint8)), lo=0, hi=6), "minlength": d.int(0, 9),
            "weights": d.tensor([n], d.pick((torch.float32, torch.float64, torch.int64)), special=False) if d.maybe() else None}


# ---- Shapes --------------------------------------------------------------------------------------

@of("view", "_unsafe_view", "reshape", "_reshape_alias")
def view(d):
    x = d.tensor(layout=d.maybe(0.3))
    out = {"self": x, "size": d.size(), "shape": d.size()}
    return {**out, "stride": list(torch.empty(out["size"]).stride())} if min(out["size"], default=0) >= 0 else out


@of("as_strided", "as_strided_")
def as_strided(d):
    size = several(d, d.int(0, 3), 0, 3)
    return {"self": d.tensor([40], layout=False), "size": size, "stride": several(d, len(size), 0, 4), "storage_offset": d.pick((None, 0, 5))}


@of("_reshape_alias")
def reshape_alias(d):
    size = several(d, d.int(0, 3), 1, 3)
    return {"self": d.tensor(size, layout=False), "size": size[::-1], "stride": list(torch.empty(size[::-1]).stride())}


@of("empty_strided", "new_empty_strided")
def strided(d):
    size = several(d, d.int(0, 3), 0, 3)
    return {"size": size, "stride": list(torch.empty(size).stride())}


@of("unflatten.int")
def unflatten(d):
    shape = list(some_shape(d))
    dim, parts = d.int(0, len(shape) - 1), several(d, 2, 1, 3)
    shape[dim] = parts[0] * parts[1]
    return {"self": d.tensor(shape), "dim": dim, "sizes": d.pick((parts, [-1, parts[1]]))}


@of("unfold")
def unfold(d):
    some_shape(d)
    dim = d.axis()
    return {"self": d.tensor(), "dimension": dim, "size": d.int(0, d.shape[dim]), "step": d.int(1, 3)}


@of("select.int", "narrow", "narrow.Tensor", "select.t")
def narrow(d):
    some_shape(d)
    dim = d.axis()
    n = d.shape[dim]
    start = d.int(0, n - 1)
    return {"self": d.tensor(), "dim": dim, "index": d.int(-n, n - 1), "start": start, "length": d.int(0, n - start)}


BY_NAME["aten::narrow.Tensor"] = lambda d: (lambda out: {**out, "start": torch.tensor(out["start"])})(narrow(d))
BY_NAME.pop("aten::select.t")


@of("split.sizes", "split", "split_with_sizes", "unsafe_split_with_sizes")
def split_sizes(d):
    some_shape(d)
    dim = d.axis()
    n = d.shape[dim]
    k = d.int(0, n)
    parts = d.pick(([k, n - k], [n], [1] * n))
    return {"self": d.tensor(), "dim": dim, "split_size": parts, "split_sizes": parts}


@of("split.Tensor", "unsafe_split.Tensor", "chunk", "unsafe_chunk", "tensor_split.sections", "tensor_split.indices", "tensor_split.tensor_indices_or_sections",
    "unbind.int")
def split(d):
    some_shape(d)
    dim = d.axis()
    n = d.shape[dim]
    sections = d.int(1, 4)
    return {"self": d.tensor(), "dim": dim, "split_size": d.int(1, n), "chunks": sections, "sections": sections, "indices": sorted(several(d, d.int(0, 2), 0, n)),
            "tensor_indices_or_sections": torch.tensor(d.pick((sections, sorted(several(d, 2, 0, n)))))}


@of("hsplit.int", "vsplit.int", "dsplit.int", "hsplit.array", "vsplit.array", "dsplit.array")
def part_split(d):
    k = d.int(1, 3)
    d.shape = tuple(k * n for n in several(d, 3, 1, 2))
    return {"self": d.tensor(), "sections": k, "indices": sorted(several(d, d.int(0, 2), 0, 3))}


@of("cat", "concat", "concatenate", "hstack", "vstack", "row_stack", "dstack", "column_stack")
def cat(d):
    shape = list(some_shape(d, 1, 4))
    dim = d.axis()
    def one():
        return [d.int(0, 4) if k == dim % len(shape) else n for k, n in enumerate(shape)]
    dtypes = (d.dtype, d.related_dtype())
    return {"tensors": [d.tensor(one(), d.pick(dtypes, (3, 1))) for _ in range(d.int(1, 4))], "dim": dim}


for _name, _dim in (("hstack", 1), ("vstack", 0), ("row_stack", 0), ("dstack", 2), ("column_stack", 1)):
    def _stacked(d, dim=_dim):
        shape = several(d, 3, 1, 3)
        return {"tensors": [d.tensor([d.int(1, 3) if k == dim else n for k, n in enumerate(shape)]) for _ in range(d.int(1, 3))]}
    BY_NAME[f"aten::{_name}"] = _stacked


@of("stack")
def stack(d):
    return {"tensors": [d.tensor() for _ in range(d.int(1, 4))], "dim": d.int(-len(d.shape) - 1, len(d.shape))}


@of("roll", "flip", "rot90")
def turned(d):
    some_shape(d, 2, 3)
    axes = d.rng.sample(range(len(d.shape)), 2)
    return {"self": d.tensor(), "dims": axes, "shifts": several(d, 2, -4, 4), "k": d.int(-5, 5)}


@of("repeat", "tile")
def repeat(d):
    d.shape = tuple(several(d, d.int(0, 3), 0, 3))
    times = several(d, d.int(len(d.shape), 4), 0, 2)
    return {"self": d.tensor(), "repeats": times, "dims": times}


@of("repeat_interleave.Tensor", "repeat_interleave.self_Tensor", "repeat_interleave.self_int")
def interleave(d):
    some_shape(d)
    return {"self": d.tensor(), "dim": None, "output_size": None, "repeats": d.tensor([d.tensor(layout=False).numel()], torch.int64, lo=0, hi=3)}


BY_NAME["aten::repeat_interleave.Tensor"] = lambda d: {"repeats": d.tensor([d.int(0, 6)], d.pick((torch.int64, torch.int32)), lo=0, hi=3), "output_size": None}
BY_NAME["aten::repeat_interleave.self_int"] = lambda d: {**interleave(d), "repeats": d.int(0, 3), "dim": d.pick((None, 0, -1))}


@of("meshgrid", "meshgrid.indexing", "block_diag", "broadcast_tensors")
def grids(d):
    return {"tensors": [d.tensor(several(d, d.int(0, 1), 1, 4)) for _ in range(d.int(1, 3))]}


BY_NAME["aten::block_diag"] = lambda d: {"tensors": [d.tensor(several(d, d.int(0, 2), 0, 3)) for _ in range(d.int(1, 3))]}


BY_NAME.update({"aten::to.prim_other": lambda d: {"self": d.tensor(dtype=torch.uint8), "copy": True, "non_blocking": False}, "aten::device": lambda d: {"a": d.pick(("cpu", "cpu:0"))}, "aten::device.with_index": lambda d: {"type": "cpu", "index": 0},
                "aten::tril_indices": lambda d: {"row": d.int(0, 6), "col": d.int(0, 6), "offset": d.int(-4, 4)},
                "aten::triu_indices": lambda d: {"row": d.int(0, 6), "col": d.int(0, 6), "offset": d.int(-4, 4)}})

# ---- Vision --------------------------------------------------------------------------------------

def boxes(d, n, size):
    corners = d.tensor([n, 2], torch.float32, lo=0, hi=size * 0.6, layout=False)
    return torch.cat([corners, corners + d.tensor([n, 2], torch.float32, lo=1, hi=size * 0.6, layout=False)], 1)


@of("torchvision::nms")
def nms(d):
    n = d.int(0, 9)
    return {"dets": boxes(d, n, 10), "scores": d.tensor([n], torch.float32, lo=0, hi=1), "iou_threshold": d.rng.random()}


@of("torchvision::roi_align", "torchvision::roi_pool", "torchvision::ps_roi_align", "torchvision::ps_roi_pool")
def roi(d):
    d.dtype = torch.float32
    h, w, n, batch = d.int(1, 3), d.int(1, 3), d.int(0, 4), d.int(1, 2)
    rois = torch.cat([d.tensor([n, 1], torch.float32, layout=False, lo=0, hi=batch).floor().clamp(max=batch - 1), boxes(d, n, 8)], 1)
    return {"input": d.tensor([batch, h * w * d.int(1, 2), 9, 8], special=False), "rois": rois, "spatial_scale": d.pick((1.0, 0.5)), "pooled_height": h,
            "pooled_width": w, "sampling_ratio": d.pick((-1, 0, 1, 2))}


@of("torchvision::deform_conv2d")
def deform(d):
    d.dtype = torch.float32
    k, stride, pads, dilations = several(d, 2, 1, 3), several(d, 2, 1, 2), several(d, 2, 0, 2), several(d, 2, 1, 2)
    groups, offset_groups, size, batch = d.int(1, 2), d.int(1, 2), several(d, 2, 5, 8), d.int(1, 2)
    ins, outs = 2 * d.int(1, 2), 2 * d.int(1, 2)
    out = [(s + 2 * p - q * (n - 1) - 1) // t + 1 for s, p, q, n, t in zip(size, pads, dilations, k, stride)]
    return {"input": m(d, batch, ins, *size), "weight": m(d, outs, ins // groups, *k), "offset": m(d, batch, 2 * offset_groups * k[0] * k[1], *out),
            "mask": d.tensor([batch, offset_groups * k[0] * k[1], *out], lo=0, hi=1), "bias": m(d, outs), "stride_h": stride[0], "stride_w": stride[1],
            "pad_h": pads[0], "pad_w": pads[1], "dilation_h": dilations[0], "dilation_w": dilations[1], "groups": groups, "offset_groups": offset_groups}


def given(name, d, schema):
    """Returns the arguments that a function of this file draws for the schema."""
    function = BY_NAME.get(name) or BY_NAME.get(re.sub(r"_(?=\.|$)", "", name))  # or the name of its in-place form
    known = {a.name for a in schema.arguments}
    return {k: v for k, v in function(d).items() if k in known} if function else {}


assert all(re.match(r"\w+::[\w.]+$", name) for name in BY_NAME)
