"""The layout of results as a program sees it: stride() and is_contiguous(), for operators of every family
on tensors of every layout. Further rows write through results that are aliases in PyTorch.

The runtime stores the result of a convolution channels-last, also where PyTorch's is contiguous. The layouts
therefore include `conv` and views of it. Some results have different strides in PyTorch with and without oneDNN,
and they are left out: 3-d convolutions of channels-last tensors, and grouped convolutions to single pixels."""
from conformance import *

HEAD = """
def same(x: Tensor) -> Tensor:
    return F.conv2d(x, torch.eye(x.size(1))[:, :, None, None])

def layouts(x: Tensor) -> List[Tensor]:
    c, h, w = x.size(1), x.size(2), x.size(3)
    last = x.contiguous(memory_format=torch.channels_last)
    conv = same(x)
    return [x, last, x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
            x.transpose(2, 3).contiguous().transpose(2, 3), torch.cat([x, x], 1)[:, :c],
            torch.cat([last, last], 1)[:, c:], torch.cat([last, last], 3)[:, :, :, :w], x[:1].expand_as(x),
            conv, torch.relu(conv), same(torch.cat([x, x], 1))[:, c:], same(torch.cat([x, x], 2))[:, :, :h],
            same(x.transpose(2, 3)).transpose(2, 3), same(x).permute(0, 2, 3, 1).permute(0, 3, 1, 2) + 0]

def layouts_of_cubes(x: Tensor) -> List[Tensor]:
    n = x.size(2)
    return [x, x.transpose(1, 2).contiguous().transpose(1, 2), x.permute(2, 1, 0).contiguous().permute(2, 1, 0),
            torch.cat([x, x], 2)[:, :, :n], x[:1].expand_as(x), same(x.unsqueeze(2)).squeeze(2), same(x[:, :, None])[:, :, 0],
            F.conv1d(x, torch.eye(x.size(1))[:, :, None])]

def layouts_of_volumes(x: Tensor) -> List[Tensor]:
    w = x.size(4)
    last = x.contiguous(memory_format=torch.channels_last_3d)
    return [x, last, x.permute(4, 3, 2, 1, 0).contiguous().permute(4, 3, 2, 1, 0), torch.cat([x, x], 4)[:, :, :, :, :w],
            torch.cat([last, last], 4)[:, :, :, :, :w], F.conv3d(x, torch.eye(x.size(1))[:, :, None, None, None])]

def told(y: Tensor) -> List[int]:
    said = y.stride()
    said.append(int(y.is_contiguous()))
    if y.dim() == 4:
        said.append(int(y.is_contiguous(memory_format=torch.channels_last)))
    if y.dim() == 5:
        said.append(int(y.is_contiguous(memory_format=torch.channels_last_3d)))
    return said
"""

#: The stride of a dimension of size 1 is arbitrary.
IMAGES = [(2, 4, 3, 2), (1, 4, 3, 2), (2, 1, 3, 2), (2, 4, 1, 1), (1, 1, 3, 2)]


def name_of(expression):
    """Returns a name of letters and digits that is unique to the expression."""
    for sign, word in {"+": "plus", "*": "times", "/": "by", "-": "minus", ">": "above", "@": "matmul", "[": "at", ":": "to"}.items():
        expression = expression.replace(sign, f" {word} ")
    words = "".join(c if c.isalnum() else " " for c in expression).split()
    return "_".join(w for w in words if w not in ("torch", "F", "v"))


def unary(expression, sizes=IMAGES, layouts="layouts", results=1, **options):
    """Adds a row that returns the layouts of the results and a weighted sum, which depends on each element's position."""
    names = ["y", "z", "u"][:results]
    adds = "\n".join(f"""
        out.append(told({y}))
        total = total + (k + 1) * {y}.double().reshape(-1).dot(torch.arange({y}.numel()).double())""" for y in names)
    row(f"layout_{len(sizes[0])}d_{name_of(expression)}", HEAD + f"""
def f(x: Tensor):
    out: List[List[int]] = []
    total = torch.zeros([]).double()
    for k, v in enumerate({layouts}(x)):
        {', '.join(names)} = {expression}{adds}
    return out, total
""", x=f32(*sizes[0], lo=0.25, hi=1.0), also=[{"x": f32(*s, lo=0.25, hi=1.0)} for s in sizes[1:]], **options)


def binary(expression, sizes=((2, 4, 3, 2), (2, 4, 3, 2)), also=()):
    row(f"layouts_{name_of(expression)}_{'x'.join(map(str, sizes[1]))}", HEAD + f"""
def f(x: Tensor, b: Tensor):
    out: List[List[int]] = []
    total = torch.zeros([]).double()
    for k, v in enumerate(layouts(x)):
        for w in layouts(b):
            y = {expression}
            out.append(told(y))
            total = total + (k + 1) * y.double().reshape(-1).dot(torch.arange(y.numel()).double())
    return out, total
""", x=f32(*sizes[0], lo=0.25, hi=1.0), b=f32(*sizes[1], lo=0.25, hi=1.0),
        also=[{"x": f32(*a, lo=0.25, hi=1.0), "b": f32(*b, lo=0.25, hi=1.0)} for a, b in also])


LARGE = [(2, 4, 4, 6)]
CUBES = [(2, 4, 6), (1, 4, 6), (2, 1, 6)]
VOLUMES = [(2, 4, 4, 2, 3)]

# ---- Pointwise ------------------------------------------------------------------------------------

for e in ["torch.relu(v)", "torch.sigmoid(v)", "torch.logical_not(v)", "F.gelu(v)", "F.hardswish(v)", "F.leaky_relu(v)",
          "F.logsigmoid(v)", "F.softplus(v)", "v + 1", "1 - v", "v / 3", "v > 0.5", "v.pow(2)", "2 ** v", "v.clamp(0.3, 0.7)",
          "torch.where(v > 0.5, v, 0.0)", "v.masked_fill(v > 0.5, 0.0)", "v.lerp(v, 0.5)", "torch.addcmul(v, v, v)",
          "v.double()", "v.to(torch.int64)", "v.float()", "v.to(torch.bool)", "v.clone()", "v.contiguous()",
          "v.contiguous(memory_format=torch.channels_last)", "v.clone(memory_format=torch.contiguous_format)",
          "v.clone(memory_format=torch.channels_last)", "v.to(memory_format=torch.channels_last)", "torch.zeros_like(v)",
          "torch.ones_like(v, memory_format=torch.channels_last)", "torch.full_like(v, 2.0)", "v.new_zeros([2, 3])",
          "torch.rand_like(v) * 0", "torch.dropout(v, 0.5, False)", "v.nan_to_num()", "v.round()", "v.type_as(v.double())"]:
    unary(e)
unary('torch.einsum("bchw,dc->bdhw", v, torch.ones(3, v.size(1)))', LARGE)
unary("F.hardtanh(v)")
unary("torch.rad2deg(v)")
unary("F.glu(v, 1)", LARGE)
unary("F.prelu(v, torch.ones(4))", LARGE)

for e in ["v + w", "w * v", "torch.maximum(v, w)", "v > w", "torch.where(v > 0.5, w, v)", "torch.addcmul(v, w, w)",
          "v.lerp(w, 0.5)", "v.clamp(w, v)", "torch.cat([v, w], 1)", "torch.cat([v, w], 3)", "torch.stack([v, w], 1)",
          "v.masked_fill(w > 0.5, 0.0)", "torch.atan2(v, w)"]:
    binary(e)
# Empty tensors: nonzero returns transposed rows, and batch_norm clones its input.
row("layout_of_nothing", "torch.nonzero(x).stride(), torch.nonzero(y).stride(), torch.nonzero(x > 0).stride(), "
    "F.batch_norm(x, torch.zeros(3), torch.ones(3)).stride(), F.batch_norm(x.t(), torch.zeros(0), torch.ones(0)).stride(), "
    "F.batch_norm(z, torch.zeros(3), torch.ones(3)).stride(), F.batch_norm(z, torch.zeros(3), torch.ones(3), training=True).stride()",
    x=f32(0, 3), y=tensor([[0.0, 0.0]]), z=channels_last(f32(0, 3, 4, 5)))
# Dimensions of size 1 have arbitrary strides. The result's strides show which operands TensorIterator used.
ONE = ["v + 1", "torch.pow(v, 2.5)", "torch.pow(v, 2)", "torch.pow(2.5, v)", "v.lerp(v, 0.3)", "v.lerp(v, v)", "v.clamp(0.3, 0.9)", "v.clamp(0, 0.9)",
       "v.clamp(min=0.3)", "v.clamp(max=0.3)", "v.clamp_min(0.3)", "v.clamp_max(0.3)", "v.clamp_min(v)", "v > 0.5", "F.leaky_relu(v)", "F.rrelu(v)"]
row("layout_of_size_1", HEAD + f"""
def f(x: Tensor):
    out: List[List[int]] = []
    for v in [x.unfold(1, 1, 1), x[:1].transpose(0, 1), x.as_strided([2, 1, 3], [3, 7, 1]), x[:, 1:2], x.unsqueeze(0).unsqueeze(1)]:
        out += [{", ".join(f"({e}).stride()" for e in ONE)}]
    return out
""", x=f32(2, 3, 4))
unary("F.rrelu(v)")

for e in ["torch.float_power(v, w)", "F.binary_cross_entropy(v, w, reduction='none')", "F.huber_loss(v, w, reduction='none')"]:
    binary(e)
binary("torch.float_power(v, w)", ((2, 4, 3, 2), (2, 1, 3, 2)), [((1, 4, 3, 2), (2, 4, 3, 2))])
binary("F.huber_loss(v, w, reduction='none')", ((2, 4, 3, 2), (2, 4, 1, 1)), [((2, 4, 1, 1), (2, 4, 3, 2))])
binary("v * w", ((2, 4, 3, 2), (2, 4, 1, 1)), [((2, 4, 1, 1), (2, 4, 3, 2)), ((2, 1, 3, 2), (1, 4, 1, 1))])
binary("w - v", ((2, 4, 3, 2), (1, 4, 3, 2)), [((2, 4, 3, 2), (1, 1, 3, 2)), ((2, 4, 3, 2), (2, 1, 3, 1))])

# ---- Convolutions, pools, norms -------------------------------------------------------------------

for e in ["F.conv2d(v, torch.ones(3, v.size(1), 1, 1))", "F.conv2d(v, torch.ones(3, v.size(1), 3, 3), None, 1, 1)",
          "F.conv2d(v, torch.ones(3, v.size(1), 3, 3).contiguous(memory_format=torch.channels_last), None, 1, 1)",
          "F.conv2d(v, torch.ones(3, v.size(1), 3, 3), None, 2, 2, 2)", "F.conv2d(v[0], torch.ones(3, v.size(1), 1, 1))",
          "F.conv_transpose2d(v, torch.ones(v.size(1), 3, 3, 3))", "F.conv2d(v.double(), torch.ones(2, v.size(1), 1, 1).double())"]:
    unary(e)
unary("F.conv2d(v, torch.ones(4, 1, 3, 3), None, 1, 1, 1, 4)", LARGE)
unary("F.conv2d(v, torch.ones(6, 2, 3, 3), None, 1, 1, 1, 2)", LARGE)
unary("F.conv_transpose2d(v, torch.ones(4, 3, 2, 2), None, 2, 0, 0, 2)", LARGE)
unary("F.conv1d(v, torch.ones(3, v.size(1), 3), None, 1, 1)", CUBES, "layouts_of_cubes")
unary("F.conv1d(v, torch.ones(3, v.size(1), 3).transpose(1, 2).contiguous().transpose(1, 2), None, 1, 1)", CUBES, "layouts_of_cubes")
unary("F.conv_transpose1d(v, torch.ones(v.size(1), 3, 2))", CUBES, "layouts_of_cubes")
for name in ("max_pool2d", "avg_pool2d"):
    unary(f"F.{name}(v, 2)", LARGE)
    unary(f"F.{name}(v, 1)")
    unary(f"F.{name}(v[0], 1)")
    unary(f"F.{name[:-2]}1d(v, 2)", CUBES, "layouts_of_cubes")
    unary(f"F.{name[:-2]}3d(v, 2)", VOLUMES, "layouts_of_volumes")
unary("F.max_pool2d_with_indices(v, [2, 2])", LARGE, results=2)
unary("F.max_pool1d_with_indices(v, [2])", CUBES, "layouts_of_cubes", 2)
for size in (1, 2):
    unary(f"F.adaptive_avg_pool1d(v, {size})", CUBES, "layouts_of_cubes")
    unary(f"F.adaptive_avg_pool2d(v, [{size}, {size}])")
    unary(f"F.adaptive_avg_pool3d(v, [{size}, {size}, {size}])", VOLUMES, "layouts_of_volumes")
    unary(f"F.adaptive_max_pool2d_with_indices(v, [{size}, {size}])", results=2)
    unary(f"F.adaptive_max_pool1d_with_indices(v, [{size}])", CUBES, "layouts_of_cubes", 2)
for norm in ["F.batch_norm(v, torch.ones(v.size(1)), torch.ones(v.size(1)), None, None, False)",
             "F.batch_norm(v, torch.ones(v.size(1)), torch.ones(v.size(1)), training=True)"]:
    unary(norm, LARGE)
    unary(norm, CUBES, "layouts_of_cubes")
    unary(norm, VOLUMES, "layouts_of_volumes")
FEWER_DIGITS = dict(rtol=1e-4, atol=1e-3, why="normalised elements are about 1 and their weighted sum is near 0: up to 4 times the default was measured")
for norm in ["F.instance_norm(v)", "F.group_norm(v, 2)"]:
    unary(norm, LARGE, **FEWER_DIGITS)
    unary(norm, [(2, 4, 6)], "layouts_of_cubes", **FEWER_DIGITS)
for norm in ["F.layer_norm(v, [6])", "F.layer_norm(v.permute(0, 2, 3, 1), [4])", "torch.rms_norm(v, [6])"]:
    unary(norm, LARGE, **FEWER_DIGITS)

for e in ["F.scaled_dot_product_attention(v, v, v)", "F.scaled_dot_product_attention(v[:, :1].expand_as(v), v, v)",
          "F.scaled_dot_product_attention(v[:, :, :1].expand_as(v), v[:, :1].expand_as(v), v)", "F.scaled_dot_product_attention(v.transpose(1, 2), v.transpose(1, 2), v.transpose(1, 2))",
          "F.scaled_dot_product_attention(v, v[:, :, :1], v[:, :, :1])", "F.scaled_dot_product_attention(v[0], v[0], v[0])",
          "F.scaled_dot_product_attention(v.flatten(2).unsqueeze(1), v.flatten(2).unsqueeze(1), v.flatten(2).unsqueeze(1))",
          "v.flatten(2) @ v.flatten(2).transpose(1, 2)", "torch.bmm(v.flatten(2).transpose(1, 2), v.flatten(2))",
          "torch.baddbmm(v[:, :, :1, 0], v.flatten(2), v.flatten(2)[:, :1].transpose(1, 2))", "v @ v.mT",
          "torch.mm(v[0].flatten(1), v[0].flatten(1).t())", "F.linear(v.permute(0, 2, 3, 1), torch.ones(5, v.size(1)))"]:
    unary(e, LARGE)

# ---- Resizing, padding, shuffling -----------------------------------------------------------------

for mode in ("nearest", "bilinear", "bicubic", "nearest-exact"):
    unary(f'F.interpolate(v, scale_factor=2.0, mode="{mode}")')
unary('F.interpolate(v, scale_factor=2.0, mode="linear")', CUBES, "layouts_of_cubes")
unary('F.interpolate(v, scale_factor=2.0, mode="trilinear")', VOLUMES, "layouts_of_volumes")
for mode in ("constant", "reflect", "replicate", "circular"):
    unary(f'F.pad(v, [1, 1, 2, 1], "{mode}")', LARGE)
    unary(f'F.pad(v, [1, 2], "{mode}")', CUBES, "layouts_of_cubes")
unary("F.pad(v, [0, 0, 0, 0, 1, 1])")
unary("F.pad(v, [-1, 2])", LARGE)
unary("F.pad(v, [-1, -1])", LARGE)
unary("F.pixel_shuffle(v, 2)", LARGE)
unary("F.pixel_unshuffle(v, 2)", LARGE)
unary("F.channel_shuffle(v, 2)", LARGE)

# ---- Over dimensions ------------------------------------------------------------------------------

for e in ["v.sum(1)", "v.mean([2, 3])", "v.mean([2, 3], keepdim=True)", "v.amax(1, keepdim=True)", "v.std(1, keepdim=True, unbiased=False)",
          "v.norm(2, [1])", "v.argmax(1)", "v.logsumexp(1)", "v.prod(2)", "torch.softmax(v, 1)", "torch.log_softmax(v, 3)", "v.cumsum(1)",
          "F.normalize(v, dim=1)", "F.cosine_similarity(v, v)", "torch.count_nonzero(v, 1)"]:
    unary(e)
for e in ["v.max(1)", "v.sort(1)", "v.topk(1, 1)", "v.cummax(1)", "v.min(3, keepdim=True)"]:
    unary(e, results=2)

# ---- Moved elements -------------------------------------------------------------------------------

for e in ["torch.cat([v, v])", "torch.cat([v, v], 1)", "torch.stack([v, v])", "torch.stack([v, v], -1)", "torch.hstack([v, v])",
          "v.flip([1])", "v.roll(1, 2)", "v.roll(1)", "torch.rot90(v, 1, [2, 3])", "v.tril()", "v.repeat(1, 2, 1, 1)",
          "v.repeat_interleave(2, 1)", "v.index_select(1, torch.tensor([0, 0]))", "v[:, torch.tensor([0, 0])]",
          "v[torch.tensor([0]), :, torch.tensor([0])]", "v.gather(1, torch.zeros([1, 1, 1, 1], dtype=torch.int64))",
          "v.scatter(1, torch.zeros([1, 1, 1, 1], dtype=torch.int64), 0.0)", "v.index_add(0, torch.tensor([0]), v[:1])",
          "v.index_fill(1, torch.tensor([0]), 0.0)", "v.index_copy(0, torch.tensor([0]), v[:1] * 2)",
          "v.index_put([torch.tensor([0])], v[0] * 2)", "v.masked_scatter(v > 0.5, v)", "torch.slice_scatter(v, v[:1] * 2, 0, 0, 1)",
          "torch.select_scatter(v, v[:, 0] * 2, 1, 0)", "v.diag_embed()", "torch.diff(v, dim=2)", "F.unfold(v, [1, 1])",
          "F.linear(v, torch.ones(3, v.size(3)))", "v @ torch.ones(v.size(3), 3)",
          "torch.as_strided(v.contiguous(), [2, 1], [1, 3])"]:
    unary(e)

# ---- Views, which stride() describes --------------------------------------------------------------

for e in ["v.permute(0, 2, 3, 1)", "v.transpose(1, 2)", "v.movedim(1, -1)", "v.flatten(2)", "v.flatten(2).transpose(1, 2)", "v.flatten(1)",
          "v.flatten()", "v.ravel()", "v.reshape(v.size(0), -1)", "v.unflatten(1, [1, -1])", "v.squeeze()", "v.unsqueeze(1)",
          "v.unsqueeze(-1)", "v[:, ::2]", "v[:, 0]", "v[..., 0]", "v.select(2, 0)", "v.narrow(1, 0, 1)", "v.diagonal(0, 1, 2)", "v.unfold(2, 1, 1)",
          "v.expand(v.size(0), v.size(1), v.size(2), v.size(3))", "v.unsqueeze(0).expand(3, -1, -1, -1, -1)", "v.chunk(2, 1)[0]",
          "v.split(1, 1)[0]", "v.unbind(1)[0]", "v.mT", "v.detach()", "v.view_as(v)", "v.expand_as(v)",
          "v.flatten(2).transpose(1, 2).contiguous()", "v.permute(0, 2, 3, 1).reshape(-1, v.size(1))",
          "v.permute(0, 2, 3, 1).flatten(1, 2)", "v.reshape(v.size(0), v.size(1), -1, 1)"]:
    unary(e)
for e in ["same(v).view(v.size(0), -1)", "same(v.contiguous()).view(-1)", "same(v.contiguous()).view(v.size(0), 1, -1)",
          "torch.relu(same(v.contiguous())).view(v.size(0), -1)", "F.max_pool2d(torch.relu(same(v.contiguous())), 1).view(v.size(0), -1)",
          "torch.ops.aten._unsafe_view(same(v.contiguous()), [v.numel()])", "same(v.contiguous()).as_strided([2, 1], [2, 1], 1)",
          "same(v.contiguous()).unfold(3, 1, 1)", "same(v.contiguous())[0].view(-1)"]:
    if e != "same(v).view(v.size(0), -1)":
        unary(e)
row("layout_view_of_channels_last_is_refused", HEAD + """
def f(x: Tensor):
    return same(x.contiguous(memory_format=torch.channels_last)).view(x.size(0), -1)
""", x=f32(2, 4, 3, 2), raises="view size is not compatible")

# ---- Writes through aliases, and writes to copies --------------------------------------------------

#: Each expression makes a tensor `y` from `c`, the result of a convolution.
ALIASES = {
    "view": "c.view(-1)", "view_batch": "c.view(c.size(0), -1)", "view_as": "c.view_as(c)", "unsafe_view": "torch.ops.aten._unsafe_view(c, [c.numel()])",
    "reshape": "c.reshape(c.size(0), -1)", "reshape_pixels": "c.reshape(c.size(0), c.size(1), -1)", "flatten": "c.flatten(1)",
    "flatten_pixels": "c.flatten(2)", "flatten_transposed": "c.flatten(2).transpose(1, 2)", "ravel": "c.ravel()",
    "contiguous": "c.contiguous()", "contiguous_last": "c.contiguous(memory_format=torch.channels_last)", "clone": "c.clone()",
    "to_same": "c.to(torch.float32)", "to_last": "c.to(memory_format=torch.channels_last)", "float": "c.float()",
    "permute": "c.permute(0, 2, 3, 1)", "permute_reshape": "c.permute(0, 2, 3, 1).reshape(-1, c.size(1))",
    "permute_contiguous": "c.permute(0, 2, 3, 1).contiguous()", "transpose": "c.transpose(1, 3)", "movedim": "c.movedim(1, -1)",
    "chunk": "c.chunk(2, 1)[1]", "split": "c.split(1, 2)[0]", "unbind": "c.unbind(1)[0]", "select": "c[:, 1]", "slice": "c[:, 1:, 1:]",
    "slice_steps": "c[:, ::2]", "narrow": "c.narrow(3, 0, 1)", "diagonal": "c.diagonal(0, 2, 3)", "unsqueeze": "c.unsqueeze(1)",
    "squeeze": "c[:1].squeeze(0)", "as_strided": "c.as_strided([4, 3], [3, 1], 2)", "unfold": "c.unfold(2, 1, 1)[..., 0]",
    "expand": "c.expand(-1, -1, -1, -1)", "mT": "c.mT", "detach": "c.detach()",
    "slice_of_view": "c.view(c.size(0), -1)[:, 3:]", "view_of_slice": "c[-1].view(-1)", "reshape_of_slice": "c[:, :2].reshape(c.size(0), -1)",
    "reshape_of_transposed": "c.transpose(2, 3).reshape(c.size(0), -1)", "in_a_list": "[c, x][0]", "relu_of_itself": "torch.relu_(c)",
    "twice": "c.permute(0, 2, 3, 1)[:, 1:].permute(0, 3, 1, 2)", "resolve": "c.resolve_conj()", "pad_nothing": "F.pad(c, [0, 0])",
    "dropout": "torch.dropout(c, 0.5, False)", "atleast": "torch.atleast_3d(c)", "set_data": "c.data",
}
INPUTS = {"": f32(2, 4, 3, 2), "_of_nhwc": channels_last(f32(2, 4, 3, 2)), "_of_one": f32(1, 4, 3, 2)}
for name, alias in ALIASES.items():
    for layout, x in INPUTS.items():
        if layout == "_of_nhwc" and name in ("view", "view_batch", "unsafe_view", "slice_of_view", "view_of_slice"):
            continue
        row(f"layout_write_{name}{layout}", HEAD + f"""
def f(x: Tensor):
    c = torch.relu(F.conv2d(x, w))
    other = c[:, 2]
    y = {alias}
    y.mul_(3)
    y.add_(1)
    c.select(3, 0).sub_(2)
    return c, y, other, c.stride(), y.stride(), y.storage_offset(), y.is_contiguous()
""".replace("F.conv2d(x, w)", "F.conv2d(x, torch.linspace(-0.5, 1, 16).view(4, 4, 1, 1))"), x=x)

# A slice of a dead tensor may be reused as new memory if no program can see the storage behind it.
for name, made in {"softmax": "torch.softmax(part(x, n), 2)", "log_softmax": "torch.log_softmax(part(x, n), 1)", "relu": "torch.relu(part(x, n))",
                   "add": "part(x, n) + 1", "layer_norm": "F.layer_norm(part(x, n), [3])", "batch_norm": "F.batch_norm(part(x, n), torch.zeros(2), torch.ones(2))",
                   "cumsum": "part(x, n).cumsum(1)", "clone": "part(x, n).clone()", "index_add": "torch.index_add(part(x, n), 1, torch.tensor([1]), x[:, :1])",
                   "to": "torch.softmax(part(x, n).half(), 2, dtype=torch.float)"}.items():
    row(f"layout_of_part_{name}", f"""
def part(x: Tensor, n: int):
    return torch.cat([x, x], n)[:, 1:3] if n == 1 else torch.cat([x, x], n)[1:]
def f(x: Tensor):
    y, z = {made.replace("n)", "0)", 1)}, {made.replace("n)", "1)", 1)}
    return y, z, y.stride(), z.stride(), y.storage_offset(), z.storage_offset()
""", x=f32(1, 2, 3))
row("layout_resize_of_a_result", HEAD + """
def f(x: Tensor):
    c, d = same(x), same(x)
    view = d[:, 0]
    c.resize_([2, 3])
    d.resize_as_(c)
    d.add_(1)
    return c, d, c.stride(), view, view.stride()
""", x=f32(2, 4, 3, 2))
row("layout_written_part_by_part", HEAD + """
def f(x: Tensor):
    c = same(x)
    a, b = c.chunk(2, 1)
    a += b
    b.copy_(a * 2)
    c[:, 0] = 7.0
    c[0].view(-1)[3:5] = 1.5
    return a, b, c, a.stride(), c.stride()
""", x=f32(2, 4, 3, 2))
row("layout_in_containers", HEAD + """
def f(x: Tensor):
    c = same(x)
    some = [c, c.permute(0, 2, 3, 1)]
    named = {"c": same(x)[:, 1:]}
    pair = (some[1], named["c"])
    some.append(same(c))
    for t in some:
        t.add_(1)
    return some, named, pair, [t.stride() for t in some], c.view(-1), pair[1].stride()
""", x=f32(2, 4, 3, 2))
row("layout_in_a_loop", HEAD + """
def f(x: Tensor, n: int):
    views: List[Tensor] = []
    for k in range(n):
        x = torch.relu(same(x)) if k % 2 == 0 else same(x).mul_(2)
        views.append(x.view(-1) if k > 1 else x.flatten(2))
        x = x + 1
    views[0].zero_()
    return x, views, x.stride(), [v.stride() for v in views]
""", x=f32(2, 4, 3, 2), n=4)
row("layout_attributes", """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(1))

    def forward(self, x: Tensor):
        self.kept = F.conv2d(x, torch.eye(4)[:, :, None, None])
        part = self.kept[:, 1]
        self.kept.view(-1).add_(1)
        return self.kept, self.kept.stride(), part, part.stride()
""", x=f32(2, 4, 3, 2))
row("layout_printed", HEAD + """
def f(x: Tensor):
    c = same(x)
    return str(c), c.tolist(), c[0, 0, 0, 1].item(), c[:, 1:].sum().item()
""".replace("c.tolist(), ", ""), x=f32(2, 4, 3, 2))
