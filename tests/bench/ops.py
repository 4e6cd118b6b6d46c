"""Times single operators and PyTorch's on one thread, for `./dev bench --ops`.

A case is an expression of the names below. It is compiled as a loop, so that the time is that of the calls alone. A new case
is a row of CASES.
"""

import json
import linecache
import os
import re
import subprocess
import time
import types
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F
import torchvision  # noqa: F401 - its operators

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
BUILD = TOP / 'build' / 'bench' / 'ops'
SMALL, LARGE = 64, 262144

# ---- Names in a case's expression -----------------------------------------------------------------

def _shapes(n):
    """Returns channels, the side of the image, rows and columns."""
    return (4, 4, 4, 16) if n == SMALL else (64, 64, 1024, 256)


def operands(n):
    """Returns inputs by name. Names with w_ are weights. Each has n elements, or a size that matches such an input."""
    g = torch.Generator().manual_seed(n)
    rand = lambda *s: torch.randn(*s, generator=g)  # noqa: E731
    c, s, r, k = _shapes(n)
    return {
        'x': rand(n), 'y': rand(n), 'z': rand(n), 'p': torch.rand(n, generator=g) + 0.1, 'd': rand(n).double(), 'h': rand(n).half(),
        'i': torch.randint(0, 100, (n,), generator=g), 'j': torch.randint(1, 100, (n,), generator=g), 'b': rand(n) > 0, 'q': rand(n) > 0,
        'one': rand(1), 'image': rand(1, c, s, s), 'other': rand(1, c, s, s), 'pairs': rand(n // 2, 2),
        'gate': rand(1, c, 1, 1), 'volume': rand(1, c, 4, s // 2, s // 2), 'line': rand(1, c, s * s), 'rows': rand(r, k), 'upright': rand(k, r),
        'rows3': rand(4, r // 4, k), 'bias': rand(k), 'column': rand(r, 1), 'square': rand(r // 2, r // 2), 'spd': torch.eye(r // 8 + 1) * 4,
        'index': torch.randint(0, r, (r,), generator=g), 'places': torch.randint(0, r, (r, k), generator=g),
        'ids': torch.randint(0, 1000, (max(n // 64, 1),), generator=g), 'spots': torch.rand(1, s, s, 2, generator=g) * 2 - 1,
        'edges': torch.linspace(-2, 2, 33), 'heads': rand(1, 4, max(r // 8, 2), k // 4), 'kept': rand(max(r // 8, 2), max(r // 8, 2)) > -1,
        'few': rand(max(r // 8, 2), 8), 'wave': rand(1, n),
        'w_table': rand(1000, 64), 'w_linear': rand(k, k), 'w_bias': rand(k), 'w_c': rand(c), 'w_v': rand(c).abs() + 0.5,
        'w_1x1': rand(c, c, 1, 1), 'w_3x3': rand(c, c, 3, 3), 'w_dw3': rand(c, 1, 3, 3), 'w_dw5': rand(c, 1, 5, 5), 'w_up': rand(c, c, 2, 2),
        'w_dw7': rand(c, 1, 7, 7), 'w_2dw3': rand(2 * c, 1, 3, 3), 'w_groups': rand(c, 4, 3, 3), 'w_up4': rand(c, c, 4, 4), 'w_dw4': rand(c, 1, 4, 4),
        'w_1d': rand(c, c, 3), 'w_dw1d': rand(c, 1, 31), 'w_up1d': rand(c, c, 4), 'w_dw3d': rand(c, 1, 3, 3, 3), 'w_up3d': rand(c, c // 2, 2, 2, 2), 'w_prelu': rand(c), 'w_ih': rand(4 * 64, 64), 'w_hh': rand(4 * 64, 64), 'w_gates': rand(4 * 64), 'w_3d': rand(4, c, 3, 3, 3),
        'given': rand(c, c, 3, 3), 'shifts': rand(1, 18, s, s), 'columns': rand(1, 4 * c, s * s // 4), 'scores': torch.rand(max(r // 4, 1), generator=g),
        'boxes': torch.cat([torch.zeros(max(r // 4, 1), 1), (b := torch.rand(max(r // 4, 1), 2, generator=g) * s * 4), b + 8], 1),
        'spots3': torch.rand(1, 4, s // 2, s // 2, 3, generator=g) * 2 - 1, 'turns': rand(1, 2, 3), 'w_bilinear': rand(16, 8, 8),
        'spectrum': rand(1, min(n, 512) // 2 + 1, 4 * n // min(n, 512) + 1, 2), 'half_rows': rand(r, k // 2 + 1, 2),
        'w_window': torch.hann_window(min(n, 512)), 'steps': rand(max(n // 4096, 1), 1, 64), 'state': rand(1, 1, 64), 'size': min(n, 512),
    }


# Values that the program computes from them before the timing.
MADE = {
    'turned': ('image', 'image.contiguous(memory_format=torch.channels_last)'),
    'across': ('upright', 'upright.t()'),
    'complexes': ('pairs', 'torch.view_as_complex(pairs)'),
    'halves': ('rows', 'rows.to(torch.float16)'),
    'brains': ('rows', 'rows.to(torch.bfloat16)'),
    'half_bias': ('bias', 'bias.to(torch.float16)'),
}


def _named(text):
    return dict(line.strip().split(': ', 1) for line in text.strip().splitlines())


CASES = _named('''
    relu: torch.relu(x)
    relu_: x.relu_()
    relu turned: torch.relu(turned)
    relu6: F.relu6(x)
    hardtanh: F.hardtanh(x)
    clamp: torch.clamp(x, -1.0, 1.0)
    clamp_min: torch.clamp_min(x, 0.1)
    sigmoid: torch.sigmoid(x)
    tanh: torch.tanh(x)
    silu: F.silu(x)
    silu turned: F.silu(turned)
    gelu: F.gelu(x)
    gelu tanh: F.gelu(x, approximate='tanh')
    hardswish: F.hardswish(x)
    hardswish_: F.hardswish(x, inplace=True)
    hardsigmoid: F.hardsigmoid(x)
    leaky_relu: F.leaky_relu(x, 0.1)
    prelu: F.prelu(image, w_prelu)
    prelu of one: F.prelu(image, one)
    prelu turned: F.prelu(turned, w_prelu)
    elu: F.elu(x)
    selu: F.selu(x)
    celu: F.celu(x)
    softplus: F.softplus(x)
    mish: F.mish(x)
    log_sigmoid: F.logsigmoid(x)
    softsign: F.softsign(x)
    hardshrink: F.hardshrink(x)
    softshrink: F.softshrink(x)
    tanhshrink: F.tanhshrink(x)
    threshold: F.threshold(x, 0.1, 20.0)
    glu: F.glu(rows, 1)
    add: x + y
    add alpha: torch.add(x, y, alpha=2)
    add number: x + 1.5
    add_: x.add_(y)
    add of channels: image + gate
    add of rows: rows + bias
    add of columns: rows + column
    add turned: turned + other
    sub: x - y
    rsub: 1.0 - x
    mul: x * y
    mul number: x * 1.5
    mul of channels: image * gate
    mul of channels turned: turned * gate
    div: x / y
    div floor: torch.div(x, y, rounding_mode='floor')
    div trunc: torch.div(x, y, rounding_mode='trunc')
    remainder: torch.remainder(x, y)
    fmod: torch.fmod(x, y)
    pow 2: x ** 2
    pow 3: x ** 3
    pow 0.5: p ** 0.5
    pow 1.7: p ** 1.7
    pow of tensors: torch.pow(p, y)
    pow of a number: torch.pow(2.0, x)
    sqrt: torch.sqrt(p)
    rsqrt: torch.rsqrt(p)
    reciprocal: torch.reciprocal(x)
    square: torch.square(x)
    exp: torch.exp(x)
    exp2: torch.exp2(x)
    expm1: torch.expm1(x)
    log: torch.log(p)
    log2: torch.log2(p)
    log10: torch.log10(p)
    log1p: torch.log1p(p)
    erf: torch.erf(x)
    erfc: torch.erfc(x)
    sin: torch.sin(x)
    cos: torch.cos(x)
    tan: torch.tan(x)
    asin: torch.asin(torch.clamp(x, -1.0, 1.0))
    atan: torch.atan(x)
    atan2: torch.atan2(x, y)
    sinh: torch.sinh(x)
    abs: torch.abs(x)
    neg: -x
    sign: torch.sign(x)
    floor: torch.floor(x)
    ceil: torch.ceil(x)
    round: torch.round(x)
    trunc: torch.trunc(x)
    frac: torch.frac(x)
    maximum: torch.maximum(x, y)
    minimum: torch.minimum(x, y)
    lerp: torch.lerp(x, y, 0.3)
    addcmul: torch.addcmul(x, y, z)
    addcdiv: torch.addcdiv(x, y, p)
    eq: x == y
    gt number: x > 0.5
    ne of ints: i != 3
    le of ints: i <= j
    isnan: torch.isnan(x)
    isfinite: torch.isfinite(x)
    logical_not: torch.logical_not(b)
    logical_and: torch.logical_and(b, q)
    bitwise_and: b & q
    bitwise_not: ~b
    where: torch.where(b, x, y)
    where number: torch.where(b, x, 0.0)
    masked_fill: x.masked_fill(b, -1.0)
    masked_fill of ints: i.masked_fill(b, 1)
    masked_select: torch.masked_select(x, b)
    add of ints: i + j
    mul of ints: i * 3
    floor_divide of ints: i // j
    remainder of ints: i % j
    add of doubles: d + 1.0
    exp of doubles: torch.exp(d)
    add of halves: h + h
    add of bfloat16: brains + brains
    add of halves and rows: halves + half_bias
    mul of halves by a number: h * 1.5
    relu of halves: torch.relu(h)
    silu of halves: F.silu(h)
    gelu of bfloat16: F.gelu(brains)
    exp of halves: torch.exp(h)
    gt of halves: h > 0.5
    where of halves: torch.where(b, h, h)
    halves and floats: h + x
    sum of halves: torch.sum(h)
    mean of rows of halves: torch.mean(halves, 1)
    sum of columns of halves: torch.sum(halves, 0)
    amax of rows of halves: torch.amax(halves, 1)
    softmax of halves: torch.softmax(halves, 1)
    softmax of bfloat16: torch.softmax(brains, 1)
    layer_norm of halves: F.layer_norm(halves, [half_bias.size(0)], half_bias, half_bias)
    to bfloat16: x.to(torch.bfloat16)
    bfloat16 to float: brains.to(torch.float32)
    contiguous of a transpose of halves: halves.t().contiguous()
    transpose of halves to float: halves.t().to(torch.float32)
    to double: x.to(torch.float64)
    to half: x.to(torch.float16)
    half to float: h.to(torch.float32)
    float to int: x.to(torch.int64)
    int to float: i.to(torch.float32)
    bool to float: b.to(torch.float32)
    complex mul: complexes * complexes
    complex abs: torch.abs(complexes)
    angle: torch.angle(complexes)
    clone: x.clone()
    copy_: x.copy_(y)
    copy_ of another order: image.copy_(turned)
    contiguous of a transpose: across.contiguous()
    contiguous of channels last: turned.contiguous()
    permute to channels: image.permute(0, 2, 3, 1).contiguous()
    cat of channels: torch.cat([image, other], 1)
    cat of rows: torch.cat([rows, rows], 0)
    cat of columns: torch.cat([rows, rows], 1)
    cat turned: torch.cat([turned, turned], 1)
    stack: torch.stack([rows, rows], 1)
    pad: F.pad(image, [1, 1, 1, 1])
    pad reflect: F.pad(image, [1, 1, 1, 1], mode='reflect')
    pad replicate: F.pad(image, [1, 1, 1, 1], mode='replicate')
    roll: torch.roll(image, [1, 1], [2, 3])
    flip: torch.flip(image, [3])
    repeat: rows.repeat(2, 1)
    repeat_interleave: torch.repeat_interleave(rows, 2, 0)
    pixel_shuffle: F.pixel_shuffle(image, 2)
    channel_shuffle: F.channel_shuffle(image, 2)
    unfold: F.unfold(image, [2, 2], stride=2)
    tril: torch.tril(square)
    arange: torch.arange(n)
    zeros: torch.zeros(n)
    full: torch.full([n], 0.5)
    linspace: torch.linspace(0.0, 1.0, n)
    eye: torch.eye(rows.size(0))
    one_hot: F.one_hot(index, rows.size(0))
    embedding: F.embedding(ids, w_table)
    index_select: torch.index_select(rows, 0, index)
    index: rows[index]
    index of a mask: x[b]
    gather: torch.gather(rows, 0, places)
    scatter: torch.scatter(rows, 0, places, rows)
    scatter_add: torch.scatter_add(rows, 0, places, rows)
    index_add: torch.index_add(rows, 0, index, rows)
    index_put_: rows.index_put_([index], column)
    take_along: torch.take_along_dim(rows, places, 0)
    sum: torch.sum(x)
    sum of rows: torch.sum(rows, 1)
    sum of columns: torch.sum(rows, 0)
    mean: torch.mean(x)
    mean of rows: torch.mean(rows, 1)
    mean of an image: torch.mean(image, [2, 3])
    mean of an image turned: torch.mean(turned, [2, 3])
    var of rows: torch.var(rows, 1)
    std: torch.std(x)
    norm: torch.linalg.vector_norm(x)
    norm of rows: torch.linalg.vector_norm(rows, 2.0, [1])
    prod of rows: torch.prod(rows, 1)
    amax of rows: torch.amax(rows, 1)
    amax of columns: torch.amax(rows, 0)
    max: torch.max(x)
    max of rows: torch.max(rows, 1)[0]
    min of columns: torch.min(rows, 0)[0]
    argmax of rows: torch.argmax(rows, 1)
    argmax of channels: torch.argmax(image, 1)
    argmax: torch.argmax(x)
    any: torch.any(b)
    all of rows: torch.all(rows > 0, 1)
    sum of bools: torch.sum(b)
    sum of ints: torch.sum(i)
    logsumexp: torch.logsumexp(rows, 1)
    cumsum: torch.cumsum(rows, 1)
    cumsum of columns: torch.cumsum(rows, 0)
    cumprod: torch.cumprod(rows, 1)
    softmax: torch.softmax(rows, 1)
    softmax of channels: torch.softmax(image, 1)
    softmax of channels turned: torch.softmax(turned, 1)
    log_softmax: torch.log_softmax(rows, 1)
    log_softmax of channels: torch.log_softmax(image, 1)
    sort: torch.sort(rows, 1)[0]
    argsort: torch.argsort(x)
    topk: torch.topk(rows, 5)[0]
    unique: torch.unique(i)
    nonzero: torch.nonzero(b)
    bucketize: torch.bucketize(x, edges)
    searchsorted: torch.searchsorted(edges, x)
    histc: torch.histc(x, 64)
    cdist: torch.cdist(few, few)
    matmul: torch.matmul(rows, square) if rows.size(1) == square.size(0) else torch.matmul(rows, w_linear)
    linear: F.linear(rows, w_linear, w_bias)
    linear relu: F.relu(F.linear(rows, w_linear, w_bias))
    linear gelu: F.gelu(F.linear(rows, w_linear, w_bias))
    bmm: torch.matmul(heads, heads.transpose(-1, -2))
    einsum: torch.einsum('bhik,bhjk->bhij', heads, heads)
    attention: F.scaled_dot_product_attention(heads, heads, heads)
    attention with a mask: F.scaled_dot_product_attention(heads, heads, heads, kept)
    softmax with scale and mask: torch.softmax(rows.masked_fill(column > 1.0, -10000.0) * 0.125, -1)
    layer_norm: F.layer_norm(rows, [bias.size(0)], bias, bias)
    layer_norm and add: F.layer_norm(rows + rows, [bias.size(0)], bias, bias)
    rms_norm: rows * torch.rsqrt(rows.pow(2).mean(-1, keepdim=True) + 1e-6) * bias
    group_norm: F.group_norm(image, 4, w_c, w_c)
    instance_norm: F.instance_norm(image)
    batch_norm: F.batch_norm(image, w_c, w_v, w_c, w_c)
    batch_norm turned: F.batch_norm(turned, w_c, w_v, w_c, w_c)
    normalize: F.normalize(rows, 2.0, 1)
    cosine_similarity: F.cosine_similarity(rows, rows, 1)
    conv2d 1x1: F.conv2d(image, w_1x1, w_c)
    conv2d 3x3: F.conv2d(image, w_3x3, w_c, padding=1)
    conv2d 3x3 leaky_relu: F.leaky_relu(F.conv2d(image, w_3x3, w_c, padding=1), 0.1)
    conv2d 1x1 silu: F.silu(F.conv2d(image, w_1x1, w_c))
    conv2d 1x1 hardswish: F.hardswish(F.conv2d(image, w_1x1, w_c))
    conv2d depthwise 3x3: F.conv2d(image, w_dw3, w_c, padding=1, groups=w_dw3.size(0))
    conv2d depthwise 5x5: F.conv2d(image, w_dw5, w_c, padding=2, groups=w_dw5.size(0))
    conv2d depthwise 5x5 turned: F.conv2d(turned, w_dw5, w_c, padding=2, groups=w_dw5.size(0))
    conv_transpose2d: F.conv_transpose2d(image, w_up, w_c, stride=2)
    conv1d: F.conv1d(line, w_1d, w_c, padding=1)
    conv2d 3x3 of stride 2: F.conv2d(image, w_3x3, w_c, stride=2, padding=1)
    conv2d 3x3 dilated: F.conv2d(image, w_3x3, w_c, padding=2, dilation=2)
    conv2d 3x3 of groups: F.conv2d(image, w_groups, w_c, padding=1, groups=w_groups.size(0) // 4)
    conv2d 3x3 of a weight given: F.conv2d(image, given, padding=1)
    conv2d depthwise 3x3 dilated: F.conv2d(image, w_dw3, w_c, padding=2, dilation=2, groups=w_dw3.size(0))
    conv2d depthwise 3x3 of stride 2: F.conv2d(image, w_dw3, w_c, padding=1, stride=2, groups=w_dw3.size(0))
    conv2d depthwise 3x3 twice: F.conv2d(image, w_2dw3, padding=1, groups=w_dw3.size(0))
    conv2d depthwise 5x5 of stride 2: F.conv2d(image, w_dw5, w_c, padding=2, stride=2, groups=w_dw5.size(0))
    conv2d depthwise 7x7: F.conv2d(image, w_dw7, w_c, padding=3, groups=w_dw7.size(0))
    conv2d depthwise 7x7 turned: F.conv2d(turned, w_dw7, w_c, padding=3, groups=w_dw7.size(0))
    conv_transpose2d 4x4: F.conv_transpose2d(image, w_up4, w_c, stride=2, padding=1)
    conv_transpose2d depthwise: F.conv_transpose2d(image, w_dw4, w_c, stride=2, padding=1, groups=w_dw4.size(0))
    conv1d depthwise: F.conv1d(line, w_dw1d, w_c, padding=15, groups=w_dw1d.size(0))
    conv1d causal: F.conv1d(F.pad(line, [2, 0]), w_1d, w_c)
    conv_transpose1d: F.conv_transpose1d(line, w_up1d, w_c, stride=2, padding=1)
    conv3d: F.conv3d(volume, w_3d, padding=1)
    conv3d of stride 2: F.conv3d(volume, w_3d, padding=1, stride=2)
    conv3d depthwise: F.conv3d(volume, w_dw3d, w_c, padding=1, groups=w_dw3d.size(0))
    conv_transpose3d: F.conv_transpose3d(volume, w_up3d, stride=2)
    deform_conv2d: torch.ops.torchvision.deform_conv2d(image, w_3x3, shifts, shifts[:, :1, 0, 0], w_c, 1, 1, 1, 1, 1, 1, 1, 1, False)
    max_pool3d: F.max_pool3d(volume, 2)
    max_pool3d 3x3x3: F.max_pool3d(volume, 3, 1, 1)
    avg_pool3d: F.avg_pool3d(volume, 2)
    adaptive_avg_pool3d: F.adaptive_avg_pool3d(volume, 1)
    avg_pool1d: F.avg_pool1d(line, 2)
    max_pool2d 3x3 turned: F.max_pool2d(turned, 3, 2, 1)
    max_pool2d 5x5: F.max_pool2d(image, 5, 1, 2)
    adaptive_avg_pool2d to 3x3: F.adaptive_avg_pool2d(image, 3)
    batch_norm 3d: F.batch_norm(volume, w_c, w_v, w_c, w_c)
    group_norm turned: F.group_norm(turned, 4, w_c, w_c)
    layer_norm of channels: F.layer_norm(image.permute(0, 2, 3, 1), [w_c.size(0)], w_c, w_c).permute(0, 3, 1, 2)
    nms: torch.ops.torchvision.nms(boxes[:, 1:], scores, 0.5)
    unfold 3x3: F.unfold(image, [3, 3], padding=1)
    fold: F.fold(columns, [image.size(2), image.size(3)], [2, 2], stride=2)
    pixel_unshuffle: F.pixel_unshuffle(image, 2)
    max_pool2d: F.max_pool2d(image, 2)
    max_pool2d 3x3: F.max_pool2d(image, 3, 2, 1)
    max_pool2d turned: F.max_pool2d(turned, 2)
    avg_pool2d: F.avg_pool2d(image, 2)
    avg_pool2d 3x3: F.avg_pool2d(image, 3, 1, 1)
    adaptive_avg_pool2d: F.adaptive_avg_pool2d(image, 1)
    adaptive_avg_pool2d turned: F.adaptive_avg_pool2d(turned, 1)
    adaptive_max_pool2d: F.adaptive_max_pool2d(image, 1)
    max_pool1d: F.max_pool1d(line, 2)
    nearest: F.interpolate(image, scale_factor=2.0)
    nearest turned: F.interpolate(turned, scale_factor=2.0)
    bilinear: F.interpolate(image, scale_factor=2.0, mode='bilinear', align_corners=False)
    bilinear turned: F.interpolate(turned, scale_factor=2.0, mode='bilinear', align_corners=False)
    bilinear down: F.interpolate(image, scale_factor=0.5, mode='bilinear', align_corners=False)
    bilinear aligned: F.interpolate(image, scale_factor=2.0, mode='bilinear', align_corners=True)
    bilinear antialias: F.interpolate(image, scale_factor=0.5, mode='bilinear', align_corners=False, antialias=True)
    bicubic: F.interpolate(image, scale_factor=2.0, mode='bicubic', align_corners=False)
    linear 1d: F.interpolate(line, scale_factor=2.0, mode='linear', align_corners=False)
    trilinear: F.interpolate(volume, scale_factor=2.0, mode='trilinear', align_corners=False)
    nearest 3d: F.interpolate(volume, scale_factor=2.0)
    grid_sample: F.grid_sample(image, spots, align_corners=False)
    stft: torch.view_as_real(torch.stft(wave, size, size // 4, size, w_window, return_complex=True))
    rfft: torch.view_as_real(torch.fft.rfft(rows, dim=1))
    lstm: torch.lstm(steps, (state, state), [w_ih, w_hh, w_gates, w_gates], True, 1, 0.0, False, False, False)[0]
    gru: torch.gru(steps, state, [w_ih[:192], w_hh[:192], w_gates[:192], w_gates[:192]], True, 1, 0.0, False, False, False)[0]
    lstm_cell: torch.lstm_cell(state[0], (state[0], state[0]), w_ih, w_hh, w_gates, w_gates)[0]
    istft: torch.istft(torch.view_as_complex(spectrum), size, size // 4, size, w_window)
    fft2: torch.view_as_real(torch.fft.fft2(image))
    irfft: torch.fft.irfft(torch.view_as_complex(half_rows), dim=1)
    windows: image.view(1, image.size(1), image.size(2) // 4, 4, image.size(3) // 4, 4).permute(0, 2, 4, 3, 5, 1).reshape(-1, 16, image.size(1))
    heads of a product: rows3.view(rows3.size(0), rows3.size(1), 4, -1).transpose(1, 2).contiguous()
    heads back: heads.transpose(1, 2).reshape(1, heads.size(2), -1)
    keys transposed: heads.transpose(-1, -2).contiguous()
    every second: image[:, :, ::2, ::2].contiguous()
    columns of rows: (rows[:, :rows.size(1) // 2] * rows[:, rows.size(1) // 2:])
    position biases: w_table[places[:, :32] % 1000].sum(-1)
    index of two: rows[index, index % rows.size(1)]
    index of columns: rows[:, index % rows.size(1)]
    index_put_ of a mask: x.masked_scatter(b, y)
    scatter of a number: torch.scatter(rows, 0, places, 1.0)
    scatter_reduce: torch.scatter_reduce(rows, 0, places, rows, 'amax')
    index_copy: torch.index_copy(rows, 0, index, rows)
    index_fill: torch.index_fill(rows, 0, index, 1.0)
    embedding_bag: F.embedding_bag(ids.view(1, -1), w_table, mode='mean')
    sort of all: torch.sort(x)[0]
    sort of ints: torch.sort(i)[0]
    topk of many: torch.topk(x, n // 4)[0]
    kthvalue: torch.kthvalue(rows, 2, 1)[0]
    median: torch.median(rows, 1)[0]
    unique_consecutive: torch.unique_consecutive(i)
    cummax: torch.cummax(rows, 1)[0]
    logcumsumexp: torch.logcumsumexp(rows, 1)
    sum of the middle: torch.sum(rows3, 1)
    mean of channels: torch.mean(image, 1, keepdim=True)
    max of channels: torch.amax(image, 1, keepdim=True)
    var of an image: torch.var(image, [2, 3])
    softmax of the middle: torch.softmax(rows3, 1)
    baddbmm: torch.baddbmm(kept.float().unsqueeze(0), heads[0], heads[0].transpose(-1, -2), beta=1.0, alpha=0.125)
    matmul of a vector: torch.matmul(rows, bias)
    matmul of many small: torch.matmul(pairs.view(-1, 4, 4), pairs.view(-1, 4, 4))
    matmul with broadcast: torch.matmul(rows3, w_linear)
    einsum of an outer product: torch.einsum('bi,bj->bij', few, few)
    einsum of channels: torch.einsum('nchw,ck->nkhw', image, w_1x1.view(w_c.size(0), w_c.size(0)))
    addmm: torch.addmm(bias, rows, w_linear)
    bilinear layer: F.bilinear(few, few, w_bilinear)
    relative scores: heads @ heads.transpose(-1, -2) + kept
    masked scores: (heads @ heads.transpose(-1, -2)).masked_fill(kept, -10000.0)
    triu: torch.triu(square)
    cdist of points: torch.cdist(pairs[:512], pairs[:512])
    affine_grid: F.affine_grid(turns, [1, 1, image.size(2), image.size(3)], align_corners=False)
    grid_sample nearest: F.grid_sample(image, spots, mode='nearest', align_corners=False)
    grid_sample 3d: F.grid_sample(volume, spots3, align_corners=False)
    nearest 1d: F.interpolate(line, scale_factor=2.0)
    bicubic antialias: F.interpolate(image, scale_factor=0.5, mode='bicubic', align_corners=False, antialias=True)
    area: F.interpolate(image, scale_factor=0.5, mode='area')
    local mean: F.avg_pool2d(F.pad(image, [2, 2, 2, 2], mode='reflect'), 5, 1)
    squeeze and excite: image * torch.sigmoid(F.conv2d(F.silu(F.conv2d(image.mean([2, 3], keepdim=True), w_1x1, w_c)), w_1x1, w_c))
    gelu written out: 0.5 * x * (1.0 + torch.erf(x * 0.7071067811865476))
    new gelu written out: 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))
    rotary: rows * bias + torch.cat([-rows[:, rows.size(1) // 2:], rows[:, :rows.size(1) // 2]], 1) * bias
    polynomial: ((x * 0.3 + 1.2) * x - 0.7) * x + 2.0
    distance: torch.sqrt((x - y) ** 2 + (y - z) ** 2 + 1e-6)
''')

# ---- Slower cases and their reasons ----------------------------------------------------------------

#: The greatest ratio to PyTorch's time without a reason. With ATEN_CPU_CAPABILITY=default, which disables AVX, PyTorch itself
#: takes 4 to 9 times as long: 445 instead of 47 µs for exp, 700 instead of 122 for softmax, 56 instead of 12 for sums of rows.
LIMITS = {'native': 2, 'simd': 2.5, 'relaxed': 2.5}

_REASONS = {
    'wasm: 4 floats in a vector where PyTorch has 16 (AVX-512)': """gelu, gelu tanh, erf, exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tanh,
        sigmoid, silu, silu turned, elu, selu, celu, softplus, mish, log_sigmoid, glu, hardswish, atan, atan2, pow 0.5, pow 1.7, pow of tensors,
        pow of a number, sqrt, rsqrt, reciprocal, softmax, softmax of channels, softmax of the middle, log_softmax, log_softmax of channels, logsumexp, gelu written out,
        new gelu written out, squeeze and excite, matmul, linear, linear relu, linear gelu, addmm, bmm, baddbmm, einsum, einsum of channels, matmul with broadcast,
        relative scores, masked scores, attention, attention with a mask, conv2d 1x1, conv2d 1x1 silu, conv2d 1x1 hardswish, conv2d 3x3 dilated,
        conv2d 3x3 of stride 2, conv2d 3x3 of groups, conv2d depthwise 3x3, conv2d depthwise 3x3 dilated, conv2d depthwise 3x3 twice, conv2d depthwise 5x5,
        conv2d depthwise 5x5 turned, conv2d depthwise 7x7, conv2d depthwise 7x7 turned, conv1d, conv1d causal, conv_transpose1d, conv_transpose2d, conv_transpose2d 4x4,
        conv_transpose3d, lstm, gru, rms_norm, layer_norm, position biases, nms, linear 1d, avg_pool1d, local mean, grid_sample, grid_sample nearest""",
    'a pass over the second-level cache, by vectors of 4 floats where PyTorch has 16': """sum of rows, sum of columns, sum of the middle, mean of rows,
        mean of channels, mean of an image turned, norm of rows, amax of rows, amax of columns, max of channels, sum of ints, add alpha, add of columns, add of rows, complex mul, div trunc,
        mul of channels, mul of channels turned, prelu turned, lerp, cat turned, normalize, cosine_similarity, adaptive_avg_pool2d turned, adaptive_max_pool2d,
        adaptive_avg_pool2d, adaptive_avg_pool3d, max_pool2d turned, max_pool2d 3x3 turned, max_pool1d, softshrink, sign, max, relu_, hardswish_""",
    'elements are moved one by one': 'cummax, add turned, gather, take_along, every second',
    'a fresh result of 8 bytes an element is written': 'one_hot, eye',
    'each element is converted by itself, in a wider type': 'float to int, int to float, to double, bool to float, sum of bools',
    'halves are widened, computed by 4 floats (SSE2) and rounded, a block at a time; PyTorch has one loop of wider vectors, wasm no instruction for halves':
        """add of halves, add of bfloat16, add of halves and rows, mul of halves by a number, relu of halves, silu of halves, exp of halves, halves and floats,
        sum of halves, sum of columns of halves, mean of rows of halves, amax of rows of halves, softmax of halves, softmax of bfloat16, gelu of bfloat16, to half, half to float,
        bfloat16 to float, transpose of halves to float""",
    'in double, for both dtypes': 'fmod, remainder, div floor, complex abs, stft, istft, rfft, irfft, fft2',
    "C's own function for each element; no model of the census has it": """asin, tan, sinh, erfc, exp of doubles, histc, prod of rows, kthvalue, unique_consecutive,
        scatter_reduce, logcumsumexp""",
    'few elements: views and a copy of six dimensions': 'unfold, unfold 3x3, fold',
}
REASONS = {name: why for why, names in _REASONS.items() for name in re.split(r',\s+', names)}
assert REASONS.keys() <= CASES.keys(), REASONS.keys() - CASES.keys()

# ---- Making files ----------------------------------------------------------------------------------

def module_of(name, n):
    """Returns a scripted module that computes the case's expression a given number of times, and its inputs by name."""
    expression = CASES[name]
    used = set(compile(expression, 'case', 'eval').co_names)
    made = {k: v for k, v in MADE.items() if k in used}
    used |= {source for source, _ in made.values()}
    have = {k: v for k, v in {**operands(n), 'n': n}.items() if k in used}
    weights = {k: v for k, v in have.items() if k.startswith('w_')}
    inputs = {k: v for k, v in have.items() if isinstance(v, torch.Tensor) and k not in weights}
    names = {k: f'self.{k}' for k in weights} | {k: repr(v) for k, v in have.items() if isinstance(v, int)}
    text = re.sub(r'(?<![\w.])(\w+)\b(?!=)', lambda m: names.get(m[1], m[1]), expression)
    source = '\n'.join([
        f'def forward(self, {"".join(f"{k}: torch.Tensor, " for k in inputs)}times: int):',
        *(f'    {k} = {how}' for k, (_, how) in made.items()),
        '    out = torch.empty(0)',
        '    while times > 0:',  # PyTorch would unroll a `for` and merge equal calls
        f'        out = {text}',
        '        times -= 1',
        '    return out', ''])
    file = f'<{name} of {n}>'  # script() reads the source from linecache
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {'torch': torch, 'F': F}
    exec(compile(source, file, 'exec'), space)
    kind = types.new_class('Case', (torch.nn.Module,))
    kind.forward = space['forward']
    module = kind()
    for k, v in weights.items():
        module.register_buffer(k, v)
    return torch.jit.script(module.eval()), inputs


def make(name, n):
    import rushlight
    module, inputs = module_of(name, n)
    path = BUILD / f'{name.replace(" ", "_")}.{n}.rush'
    rushlight.export(module, (*(v.clone() for v in inputs.values()), 1), str(path), verify=False)
    return module, inputs, path


# ---- Timing ----------------------------------------------------------------------------------------

ROUNDS, LEAST = 5, 0.004  # seconds of a round


def _seconds(run, times):
    start = time.perf_counter()
    run(times)
    return time.perf_counter() - start


def _times_for(run, idle):
    """Returns how many extra calls make a round long enough."""
    times = 1
    while (took := _seconds(run, 1 + times) - idle) < LEAST / 2:
        times = max(times * 2, min(times * 50, int(times * LEAST / max(took, 1e-6))))
    return times


def _native(module, inputs, path):
    """Returns the microseconds of a call in PyTorch and natively, measured in turns."""
    import rushlight
    session = rushlight.load(str(path))
    values = tuple(inputs.values())
    contenders = [lambda times: module(*values, times), lambda times: session(*values, times)]
    with torch.no_grad():
        for run in contenders:
            run(1)
        # The cost of a run with one call, which copies the result. A large result goes to new memory.
        idle = [min(_seconds(run, 1) for _ in range(5)) for run in contenders]
        counts = [_times_for(run, rest) for run, rest in zip(contenders, idle)]
        best = [float('inf')] * 2
        for _ in range(ROUNDS):
            for k, run in enumerate(contenders):
                best[k] = min(best[k], (_seconds(run, 1 + counts[k]) - idle[k]) / counts[k])
    return [1e6 * t for t in best]


def measure(patterns, backends, sizes=(SMALL, LARGE)):
    """Times the cases whose names contain a pattern. Returns dicts of name, elements, and microseconds of a call in `torch`,
    `native` and each of the backends in Node, the least of some rounds. `refused` has the reason if there are no times."""
    BUILD.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    rows, jobs = [], []
    for name in CASES:
        if patterns and not any(p in name for p in patterns):
            continue
        for n in sizes:
            row = {'name': name, 'elements': n}
            rows.append(row)
            try:
                module, inputs, path = make(name, n)
                row['torch'], row['native'] = _native(module, inputs, path)
            except Exception as error:
                row['refused'] = str(error).splitlines()[0]
                continue
            files = {}
            for k, v in inputs.items():
                files[k] = f'{path.stem}.{k}.npy'
                numpy.save(BUILD / files[k], v.numpy())
            jobs.append({'row': len(rows) - 1, 'file': path.name, 'inputs': files})
    if backends and jobs:
        node = os.environ.get('RUSH_NODE_CURRENT') or os.environ.get('RUSH_NODE', 'node')
        order = BUILD / 'jobs.json'
        order.write_text(json.dumps({'jobs': jobs, 'backends': backends, 'rounds': ROUNDS, 'least': LEAST}))
        done = subprocess.run([node, '--no-liftoff', str(HERE / 'ops.mjs'), str(order)], stdout=subprocess.PIPE, text=True, check=True)
        for job, times in zip(jobs, json.loads(done.stdout)):
            rows[job['row']].update(times)
    return rows
