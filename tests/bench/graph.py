"""Lowers a model to a small graph for runtimes that read neither PyTorch nor ONNX. Images are NHWC, batch norms are folded, and
relu and relu6 are fused into the previous node. tflite.py and rivals/tfjs.js read the graph.

`lower(model, inputs)` visits torch.export's graph once. An ATen operator is a function marked @rule, and nodes with only constant
inputs are folded. A node is {op, in: names, out: a name, shape: in memory order, dtype, act, further fields of the op}:

    conv, depthwise    x, weight [h, w, in, out] or [h, w, channels, 1], bias; stride, pad
    deconv             x, weight [h, w, out, in], bias; stride
    linear             x, weight [in, out], bias (or none)
    matmul             a, b; turned: b's last two dimensions are swapped
    pool               x; size, stride, pad         layernorm    x, weight, bias; eps
    mean, sum          x; axes, keep                pad          x; by [[before, after], ...]
    reshape, cast      x                            transpose    x; axes
    cat                xs; axis                     slice        x; begin, size
    gather             table, ids                   softmax      x, over the last dimension
    add sub mul div maximum    a, b                 relu relu6 sigmoid tanh abs sqrt hardswish gelu gelu_tanh    x
"""

import json
import math
from dataclasses import dataclass

import torch

FLOAT, INT = 'float32', 'int32'


@dataclass
class Value:
    name: str
    shape: list  # in PyTorch's order
    dtype: str
    image: bool = False  # stored as NHWC

    @property
    def lies(self):
        n, c, h, w = self.shape if self.image else (0,) * 4
        return [n, h, w, c] if self.image else self.shape


class Graph:
    def __init__(self):
        self.inputs, self.outputs, self.nodes, self.consts = [], [], [], {}
        self.by_name, self.of = {}, {}  # nodes by their output; names of constants by tensor
        self.once = set()  # values with one user, whose node may still change

    def const(self, tensor):
        """Returns a constant's Value. Each tensor is stored once."""
        key = id(tensor)
        if key not in self.of:
            name = f'c{len(self.consts)}'
            kept = tensor.detach().to(torch.int32 if tensor.dtype == torch.int64 else tensor.dtype).contiguous()
            self.consts[name] = kept
            self.of[key] = (tensor, Value(name, list(kept.shape), INT if kept.dtype == torch.int32 else FLOAT))  # keeps its id unique
        return self.of[key][1]

    def value(self, x):
        if isinstance(x, (int, float)):
            x = torch.tensor([x], dtype=torch.float32)
        return self.const(x) if isinstance(x, torch.Tensor) else x

    def add(self, op, inputs, shape, dtype=FLOAT, image=False, **more):
        out = Value(f't{len(self.nodes)}', list(shape), dtype, image)
        node = {'op': op, 'in': [self.value(x).name for x in inputs], 'out': out.name, 'shape': out.lies, 'dtype': dtype, 'act': None, **more}
        self.nodes.append(node)
        self.by_name[out.name] = node
        return out

    def as_image(self, x):
        if x.image:
            return x
        n, c, h, w = x.shape
        return self.add('transpose', [x], x.shape, image=True, axes=[0, 2, 3, 1])

    def plain(self, x):
        """Returns the value in PyTorch's order of dimensions."""
        if not x.image:
            return x
        if x.shape[1] == 1 or x.shape[2:] == [1, 1]:
            return self.reshape(x, x.shape)
        return self.add('transpose', [x], x.shape, axes=[0, 3, 1, 2])

    def reshape(self, x, shape):
        x = self.value(x)
        if x.image and x.shape[1] != 1 and x.shape[2:] != [1, 1]:
            x = self.plain(x)
        return x if not x.image and x.shape == list(shape) else self.add('reshape', [x], shape, x.dtype)

    def transpose(self, x, axes):
        x = self.plain(x)
        shape = [x.shape[a] for a in axes]
        moved = [a for a in axes if x.shape[a] != 1]
        if moved == sorted(moved):
            return self.reshape(x, shape)
        return self.add('transpose', [x], shape, x.dtype, axes=list(axes))

    def slice(self, x, axis, begin, end):
        x = self.plain(x)
        axis %= len(x.shape)
        begin, end = (min(i + x.shape[axis] if i < 0 else i, x.shape[axis]) for i in (begin, end))
        if (begin, end) == (0, x.shape[axis]):
            return x
        size = [end - begin if i == axis else n for i, n in enumerate(x.shape)]
        return self.add('slice', [x], size, x.dtype, begin=[begin if i == axis else 0 for i in range(len(size))], size=size)

    def pointwise(self, op, a, b):
        a, b = self.value(a), self.value(b)
        shape = list(torch.broadcast_shapes(a.shape, b.shape))
        if a.image or b.image:
            a, b = (self.as_image(x) if len(x.shape) == 4 else x for x in (a, b))
            assert all(x.image or math.prod(x.shape) == 1 for x in (a, b)), 'a plain tensor meets a picture'
        return self.add(op, [a, b], shape, image=a.image or b.image)

    def used(self):
        """Returns only the nodes that the outputs need, in the same order."""
        wanted, kept = {x.name for x in self.outputs}, []
        for node in reversed(self.nodes):
            if node['out'] in wanted:
                kept.append(node)
                wanted.update(node['in'])
        self.nodes = kept[::-1]
        self.consts = {name: tensor for name, tensor in self.consts.items() if name in wanted}
        return self

    def save(self, path, consts=True):
        """Writes path.json, and path.bin with the constants."""
        places, at = {}, 0
        for name, tensor in self.consts.items():
            places[name] = {'shape': list(tensor.shape), 'dtype': INT if tensor.dtype == torch.int32 else FLOAT, 'at': at}
            at += 4 * tensor.numel()
        if consts:
            with open(path.with_suffix('.bin'), 'wb') as file:
                for tensor in self.consts.values():
                    file.write(tensor.numpy().tobytes())
        path.with_suffix('.json').write_text(json.dumps({
            'inputs': [{'name': x.name, 'shape': x.lies, 'dtype': x.dtype, 'image': x.image} for x in self.inputs],
            'outputs': [x.name for x in self.outputs], 'consts': places, 'nodes': self.nodes, 'work': self.work()}))

    def work(self):
        """Returns the cost of each product and convolution, in order: {kind, flop, bytes of its weights, which are read once}."""
        rows, read = [], set()
        for node in self.nodes:
            inner = {'conv': lambda w: math.prod(w.shape[:3]), 'depthwise': lambda w: math.prod(w.shape[:2]), 'linear': lambda w: w.shape[0],
                     'deconv': lambda w: w.shape[3]}.get(node['op'])
            if inner:
                name = node['in'][1]
                w = self.consts[name]
                size = '' if node['op'] == 'linear' else f' {w.shape[0]}x{w.shape[1]}'
                rows.append({'kind': node['op'].replace('deconv', 'transposed conv') + size, 'flop': 2 * inner(w) * math.prod(node['shape']), 'bytes': 0 if name in read else 4 * w.numel()})
                read.add(name)
            elif node['op'] == 'matmul':
                a = self.by_name[node['in'][0]]['shape']
                rows.append({'kind': 'matmul', 'flop': 2 * a[-1] * math.prod(node['shape']), 'bytes': 0})
        return rows


RULES = {}


def rule(*names):
    def keep(function):
        for name in names:
            RULES[name] = function
        return function
    return keep


@rule('conv2d.default')
def conv(g, x, w, b=None, stride=(1, 1), pad=(0, 0), dilation=(1, 1), groups=1):
    x = g.as_image(x)
    out, _, kh, kw = w.shape
    if len(set(stride)) > 1 or len(set(pad)) > 1 or set(dilation) != {1} or groups not in (1, x.shape[1]):
        raise NotImplementedError('a convolution with sides that differ, dilated or in groups')
    shape = [x.shape[0], out] + [(n + 2 * pad[0] - k) // stride[0] + 1 for n, k in zip(x.shape[2:], (kh, kw))]
    turned = w.permute(2, 3, 1, 0) if groups == 1 else w.permute(2, 3, 0, 1)
    return g.add('conv' if groups == 1 else 'depthwise', [x, turned, torch.zeros(out) if b is None else b], shape, image=True,
                 stride=stride[0], pad=pad[0])


@rule('conv_transpose2d.input')
def deconv(g, x, w, b=None, stride=(1, 1), pad=(0, 0), out_pad=(0, 0), groups=1, dilation=(1, 1)):
    if len(set(stride)) > 1 or any((*pad, *out_pad)) or groups != 1 or set(dilation) != {1}:
        raise NotImplementedError('a transposed convolution that is padded, dilated or in groups')
    shape = [x.shape[0], w.shape[1]] + [(n - 1) * stride[0] + k for n, k in zip(x.shape[2:], w.shape[2:])]
    return g.add('deconv', [g.as_image(x), w.permute(2, 3, 1, 0), torch.zeros(w.shape[1]) if b is None else b], shape, image=True, stride=stride[0])


@rule('batch_norm.default')
def batch_norm(g, x, weight, bias, mean, var, training, momentum, eps, fast):
    node = g.by_name[x.name]
    if node['op'] not in ('conv', 'depthwise') or x.name not in g.once or training:
        raise NotImplementedError('a batch norm that does not follow a convolution')
    scale = weight / torch.sqrt(var + eps)
    w, b = (g.consts[name] for name in node['in'][1:])
    along = scale if node['op'] == 'conv' else scale[:, None]
    node['in'][1:] = [g.const(w * along).name, g.const((b - mean) * scale + bias).name]
    return x


def activation(op):
    def run(g, x, *_):
        node = g.by_name.get(x.name)
        if x.name in g.once and node and node['act'] is None and node['op'] in ('conv', 'depthwise', 'linear', 'add', 'sub', 'mul'):
            node['act'] = op
            return x
        return g.add(op, [x], x.shape, image=x.image)
    return run


@rule('hardtanh.default', 'hardtanh_.default')
def hardtanh(g, x, low=-1, high=1):
    if (low, high) != (0, 6):
        raise NotImplementedError('a hardtanh that is not a relu6')
    return activation('relu6')(g, x)


def unary(op):
    return lambda g, x, *_: g.add(op, [x], x.shape, image=x.image)


for name in ('relu', 'relu6'):
    rule(f'{name}.default', f'{name}_.default')(activation(name))
for name in ('sigmoid', 'tanh', 'abs', 'hardswish'):
    rule(f'{name}.default', f'{name}_.default')(unary(name))


@rule('silu.default', 'silu_.default')
def silu(g, x):
    return g.pointwise('mul', x, unary('sigmoid')(g, x))


@rule('hardsigmoid.default')
def hardsigmoid(g, x):
    shifted = g.pointwise('add', x, 3.0)
    g.by_name[shifted.name]['act'] = 'relu6'
    return g.pointwise('mul', shifted, 1 / 6)


@rule('gelu.default')
def gelu(g, x, approximate='none'):
    return g.add('gelu' if approximate == 'none' else 'gelu_tanh', [x], x.shape)


for name in ('add', 'sub', 'mul'):
    rule(f'{name}.Tensor', f'{name}_.Tensor')(lambda g, a, b, op=name: g.pointwise(op, a, b))
rule('rsub.Scalar')(lambda g, a, b: g.pointwise('sub', b, a))
rule('clamp.default', 'clamp_min.default')(lambda g, x, low: g.pointwise('maximum', x, low))


@rule('div.Tensor')
def div(g, a, b):
    return g.pointwise('mul', a, 1 / b) if isinstance(b, (int, float)) else g.pointwise('div', a, b)


@rule('pad.default')
def pad(g, x, by, mode='constant', value=0):
    if mode != 'constant' or value or len(by) != 4:
        raise NotImplementedError('padding with other than zeros')
    x, (left, right, top, bottom) = g.as_image(x), by
    n, c, h, w = x.shape
    return g.add('pad', [x], [n, c, h + top + bottom, w + left + right], image=True, by=[[0, 0], [top, bottom], [left, right], [0, 0]])


@rule('max_pool2d.default')
def max_pool(g, x, size, stride=None, pad=(0, 0)):
    node = g.by_name[x.name]
    stride = stride or size
    if any(len(set(n)) > 1 for n in (size, stride, pad)) or any(pad) and node['act'] not in ('relu', 'relu6') and node['op'] != 'relu':
        raise NotImplementedError('a pool with sides that differ, or padded where values may be below 0')
    shape = x.shape[:2] + [(n + 2 * pad[0] - size[0]) // stride[0] + 1 for n in x.shape[2:]]
    return g.add('pool', [g.as_image(x)], shape, image=True, size=size[0], stride=stride[0], pad=pad[0])


@rule('adaptive_avg_pool2d.default')
def average(g, x, size):
    if list(size) != [1, 1]:
        raise NotImplementedError('an average to more than one pixel')
    return g.add('mean', [g.as_image(x)], x.shape[:2] + [1, 1], image=True, axes=[1, 2], keep=True)


@rule('sum.dim_IntList')
def total(g, x, axes, keep=False):
    x, axes = g.plain(x), [a % len(x.shape) for a in axes]
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes]
    return g.add('sum', [x], shape, axes=axes, keep=keep)


@rule('linalg_vector_norm.default')
def norm(g, x, order, axes, keep=False):
    if order != 2:
        raise NotImplementedError('a norm that is not Euclidean')
    return unary('sqrt')(g, total(g, g.pointwise('mul', x, x), axes, keep))


@rule('transpose.int')
def transpose(g, x, a, b):
    axes = list(range(len(x.shape)))
    axes[a], axes[b] = axes[b], axes[a]
    return g.transpose(x, axes)


rule('permute.default')(lambda g, x, axes: g.transpose(x, [a % len(axes) for a in axes]))
rule('slice.Tensor')(lambda g, x, axis, begin, end: g.slice(x, axis, begin or 0, end))
# An expanded x is read as x, because broadcasting has the same effect.
for name in ('dropout.default', 'dropout_.default', 'contiguous.default', 'expand_as.default'):
    rule(name)(lambda g, x, *_: x)


@rule('select.int')
def select(g, x, axis, index):
    axis %= len(x.shape)
    return g.reshape(g.slice(x, axis, index, index + 1), x.shape[:axis] + x.shape[axis + 1:])


@rule('split.Tensor')
def split(g, x, size, axis=0):
    return [g.slice(x, axis, at, at + size) for at in range(0, x.shape[axis], size)]


@rule('cat.default')
def cat(g, xs, axis=0):
    xs = [g.value(x) for x in xs]
    image = any(x.image for x in xs)
    xs, axis = [g.as_image(x) if image else x for x in xs], axis % len(xs[0].shape)
    shape = [sum(x.shape[i] for x in xs) if i == axis else n for i, n in enumerate(xs[0].shape)]
    return g.add('cat', xs, shape, image=image, axis=[0, 3, 1, 2][axis] if image else axis)


@rule('embedding.default')
def embedding(g, table, ids, *_):
    return g.add('gather', [table, ids], ids.shape + [table.shape[1]])


rule('new_zeros.default')(lambda g, x, size, **_: torch.zeros(size))


@rule('to.dtype')
def cast(g, x, dtype):
    return g.add('cast', [x], x.shape, {torch.float32: FLOAT}[dtype])


@rule('layer_norm.default')
def layer_norm(g, x, over, w, b, eps=1e-5, *_):
    return g.add('layernorm', [x, w, b], x.shape, eps=eps)


@rule('linear.default')
def linear(g, x, w, b=None):
    return g.add('linear', [g.plain(x), turned(g, w)] + ([] if b is None else [b]), x.shape[:-1] + [w.shape[0]])


def turned(g, w):
    """Returns w's transpose, which is made once."""
    key = ('turned', id(w))
    if key not in g.of:
        g.of[key] = (w, g.const(w.t()))
    return g.of[key][1]


@rule('matmul.default')
def matmul(g, a, b):
    node = g.by_name.get(b.name)
    rank = len(b.shape)
    last = node and node['op'] == 'transpose' and node['axes'] == [*range(rank - 2), rank - 1, rank - 2]
    shape = a.shape[:-1] + b.shape[-1:]
    if last:
        b = Value(node['in'][0], b.shape[:-2] + b.shape[:-3:-1], b.dtype)
    return g.add('matmul', [a, b], shape, turned=bool(last))


@rule('softmax.int')
def softmax(g, x, axis):
    if axis % len(x.shape) != len(x.shape) - 1:
        raise NotImplementedError('a softmax over another dimension than the last')
    return g.add('softmax', [x], x.shape)


@rule('scaled_dot_product_attention.default')
def attention(g, q, k, v, mask=None):
    scaled = g.pointwise('mul', q, 1 / math.sqrt(q.shape[-1]))
    scores = g.add('matmul', [scaled, k], q.shape[:-1] + [k.shape[-2]], turned=True)
    if mask is not None:
        scores = g.pointwise('add', scores, mask)
    return matmul(g, softmax(g, scores, -1), v)


@rule('lstm.input')
def lstm(g, x, state, weights, bias, layers, dropout, training, both, batch_first):
    """Unrolls the LSTM and multiplies all inputs first, as converters do with short ones."""
    if not batch_first or both or x.shape[0] != 1 or any(s.any() for s in state):
        raise NotImplementedError('an LSTM of other than one sequence, forwards, from zeros')
    for layer in range(layers):
        w_in, w_state, b_in, b_state = weights[4 * layer:4 * layer + 4]
        size = w_state.shape[1]
        given, out, h, c = linear(g, x, w_in, b_in + b_state), [], None, None
        for t in range(x.shape[1]):
            gates = g.reshape(g.slice(given, 1, t, t + 1), [1, 4 * size])
            if h:
                gates = g.pointwise('add', gates, linear(g, h, w_state))
            i, f, new, o = split(g, gates, size, 1)
            i, f, o = (unary('sigmoid')(g, gate) for gate in (i, f, o))
            kept = g.pointwise('mul', i, unary('tanh')(g, new))
            c = g.pointwise('add', kept, g.pointwise('mul', f, c)) if c else kept
            h = g.pointwise('mul', o, unary('tanh')(g, c))
            out.append(h)
        x = g.reshape(cat(g, out, 0), [1, len(out), size])
    return [x, None, None]


def reshaped(name):
    return name in ('flatten.using_ints', 'view.default', 'reshape.default', 'unflatten.int', 'unsqueeze.default', 'squeeze.dim')


def lower(model, inputs):
    """Returns the graph of `model` for `inputs`, {name: tensor}, with these names and sizes. It has the model's first output."""
    with torch.no_grad():
        exported = torch.export.export(model, tuple(inputs.values()), strict=False)
        return through(exported, inputs)


def through(exported, inputs):
    g, env = Graph(), {}
    names = iter(inputs)
    given = {s.arg.name: s for s in exported.graph_signature.input_specs}
    state = {**exported.state_dict, **exported.constants}
    look = lambda x: torch.fx.node.map_arg(x, lambda n: env[n])
    for node in exported.graph.nodes:
        if node.op == 'placeholder':
            target = given[node.name].target
            if target is not None:
                env[node] = state[target].detach()
                continue
            fake = node.meta['val']
            image = fake.dim() == 4 and any(str(u.target) in ('aten.conv2d.default', 'aten.pad.default') for u in node.users)
            env[node] = Value(next(names), list(fake.shape), INT if fake.dtype == torch.int64 else FLOAT, image)
            g.inputs.append(env[node])
        elif node.op == 'output':
            g.outputs = [g.plain(g.value(env[n])) for n in node.args[0]]
        else:
            args = look(node.args)
            flat = [a for arg in args for a in (arg if isinstance(arg, (list, tuple)) else [arg])]
            name = str(node.target).removeprefix('aten.')
            if not any(isinstance(a, Value) for a in flat):
                env[node] = node.target(*args, **look(node.kwargs))
            elif name == '<built-in function getitem>':
                env[node] = args[0][args[1]]
            elif reshaped(name):
                env[node] = g.reshape(args[0], node.meta['val'].shape)
            elif name in RULES:
                env[node] = RULES[name](g, *args, **look(node.kwargs))
            else:
                raise NotImplementedError(f'{name} has no rule')
            if isinstance(env[node], Value) and len(node.users) == 1:
                g.once.add(env[node].name)
            elif isinstance(env[node], Value):
                g.once.discard(env[node].name)
    return g.used()
