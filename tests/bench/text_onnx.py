"""Writes language models as ONNX with onnxruntime's own operators, as transformers.js loads them: MatMulNBits with 4 bits in groups of
32, products of 8 bits with a scale for each column, and GroupQueryAttention, whose keys and values are inputs and outputs.

In wasm, MatMulNBits has no kernel for 4 bits, and makes floats of the whole weight at each run, whatever its accuracy level and the size
of its groups. Weights that fit in memory as float32 can therefore be unpacked once, when the file is loaded: onnxruntime folds the
nodes that do it."""

import numpy
import torch
from onnx_file import OnnxFile

GROUP = 32
FLOAT = 'float32'


def _in_groups(weight):
    """Returns 4-bit integers, two in a byte [rows, groups, 16], whose zero point is 8, and scales [rows, groups]."""
    groups = weight.detach().float().reshape(weight.size(0), -1, GROUP)
    scales = groups.gather(2, groups.abs().argmax(2, True)) / -8
    steps = ((groups / scales.where(scales != 0, torch.inf)).round().clamp(-8, 7) + 8).to(torch.uint8).numpy()
    return steps[..., ::2] | steps[..., 1::2] << 4, scales.squeeze(2).numpy()


def _in_rows(weight):
    """Returns int8 integers [rows, columns] and scales [rows, 1]."""
    weight = weight.detach().float()
    scales = weight.abs().amax(1, keepdim=True) / 127
    return (weight / scales.where(scales != 0, torch.inf)).round().to(torch.int8).numpy(), scales.numpy()


def head_dim(config):
    """Returns the width of a head, which some configurations state."""
    return getattr(config, 'head_dim', None) or config.hidden_size // config.num_attention_heads


class Writer:
    """A file with the layers of a model. `bits` are those of linear layers. Words have 8. With `unpack`, 4 bits become floats at load."""

    def __init__(self, model, bits, length, unpack):
        self.model, self.config, self.bits, self.length, self.file = model, model.config, bits, length, OnnxFile(18)
        self.unpack = unpack
        self.head_dim = head_dim(self.config)
        self.turns = {}  # {base of the rotary positions: their cosines and sines}
        self.gemma = self.config.model_type.startswith('gemma')

    def bytes(self):
        file, config = self.file, self.config
        tokens = file.input('tokens', 'int64', [1, 'n'])
        self.last = file.input('last', 'int32', [1])  # the index of the last token in the cache
        self.total = file.input('total', 'int32', [])
        x = self._embedded(tokens)
        for i, layer in enumerate(self.model.model.layers):
            x = self._layer(i, layer, x)
        x = file.node('Slice', [x, *(file.constant(numpy.array([n], numpy.int64)) for n in (-1, 1 << 30, 1))])  # the last token's
        x = self._normed(x, self.model.model.norm)
        logits = self._of_bytes(x, self.model.get_output_embeddings().weight, ['logits'])
        file.output(*logits, FLOAT, [1, 1, config.vocab_size])
        return file.bytes()

    def _embedded(self, tokens):
        file = self.file
        steps, scales = (file.node('Gather', [file.constant(part), tokens]) for part in _in_rows(self.model.get_input_embeddings().weight))
        x = file.node('Mul', [file.node('Cast', [steps], to=1), scales])
        return file.node('Mul', [x, file.constant(numpy.float32(self.config.hidden_size**0.5))]) if self.gemma else x

    def _of_bytes(self, x, weight, outputs=1):
        steps, scales = _in_rows(weight)
        return self.file.own('DynamicQuantizeMatMul', [x, self.file.constant(steps.T), self.file.constant(scales[:, 0])], outputs)

    def _weights(self, x, linear):
        if self.bits == 8:
            return self._of_bytes(x, linear.weight)
        if self.unpack:
            return self.file.node('MatMul', [x, self._unpacked(linear)])
        parts = [self.file.constant(part) for part in _in_groups(linear.weight)]
        return self.file.own('MatMulNBits', [x, *parts], K=linear.in_features, N=linear.out_features, bits=4, block_size=GROUP,
                             accuracy_level=4)

    def _unpacked(self, linear):
        """Makes float32 [columns, rows] of 4-bit integers."""
        node, constant = self.file.node, self.file.constant
        packed, scales = _in_groups(linear.weight)
        packed = constant(packed[..., None])
        low = node('BitwiseAnd', [packed, constant(numpy.array(15, numpy.uint8))])
        high = node('BitShift', [packed, constant(numpy.array(4, numpy.uint8))], direction='RIGHT')
        steps = node('Cast', [node('Concat', [low, high], axis=-1)], to=1)  # [rows, groups, 16, 2]
        values = node('Mul', [node('Sub', [steps, constant(numpy.float32(8))]), constant(scales[..., None, None])])
        rows = node('Reshape', [values, constant(numpy.array([linear.out_features, linear.in_features], numpy.int64))])
        return node('Transpose', [rows], perm=[1, 0])

    def _normed(self, x, norm):
        weight = norm.weight.detach().float().numpy() + (1 if self.gemma else 0)
        epsilon = getattr(norm, 'variance_epsilon', None) or norm.eps
        return self.file.node('SimplifiedLayerNormalization', [x, self.file.constant(weight)], axis=-1, epsilon=float(epsilon))

    def _heads_normed(self, x, norm, heads):
        shape = lambda *sizes: self.file.constant(numpy.array(sizes, numpy.int64))  # noqa: E731
        x = self._normed(self.file.node('Reshape', [x, shape(0, -1, heads, self.head_dim)]), norm)
        return self.file.node('Reshape', [x, shape(0, -1, heads * self.head_dim)])

    def _attention(self, i, attention, x):
        config, file = self.config, self.file
        q, k, v = (self._weights(x, getattr(attention, f'{name}_proj')) for name in 'qkv')
        heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
        if hasattr(attention, 'q_norm'):
            q, k = self._heads_normed(q, attention.q_norm, heads), self._heads_normed(k, attention.k_norm, kv_heads)
        past = [file.input(f'past_{what}_{i}', FLOAT, [1, kv_heads, 'past', self.head_dim]) for what in ('key', 'value')]
        present = [f'present_{what}_{i}' for what in ('key', 'value')]
        window = getattr(attention, 'sliding_window', None) or -1
        cos, sin = self._turns(window)
        out, *_ = file.own('GroupQueryAttention', [q, k, v, *past, self.last, self.total, cos, sin], [f'attention_{i}', *present],
                           num_heads=heads, kv_num_heads=kv_heads, do_rotary=1, local_window_size=window, scale=float(attention.scaling))
        for name in present:
            file.output(name, FLOAT, [1, kv_heads, 'total', self.head_dim])
        return self._weights(out, attention.o_proj)

    def _turns(self, window):
        config = self.config
        theta = config.rope_local_base_freq if self.gemma and window > 0 else config.rope_theta
        if theta not in self.turns:
            each = theta ** (-torch.arange(0, self.head_dim, 2).double() / self.head_dim)
            angles = torch.outer(torch.arange(self.length).double(), each)
            self.turns[theta] = [self.file.constant(part.float().numpy()) for part in (angles.cos(), angles.sin())]
        return self.turns[theta]

    def _feed_forward(self, mlp, x):
        gate, up = self._weights(x, mlp.gate_proj), self._weights(x, mlp.up_proj)
        if self.gemma:
            gate = self.file.own('FastGelu', [gate])
        else:
            gate = self.file.node('Mul', [gate, self.file.node('Sigmoid', [gate])])
        return self._weights(self.file.node('Mul', [gate, up]), mlp.down_proj)

    def _layer(self, i, layer, x):
        attended = self._attention(i, layer.self_attn, self._normed(x, layer.input_layernorm))
        if self.gemma:
            x = self.file.node('Add', [x, self._normed(attended, layer.post_attention_layernorm)])
            fed = self._feed_forward(layer.mlp, self._normed(x, layer.pre_feedforward_layernorm))
            return self.file.node('Add', [x, self._normed(fed, layer.post_feedforward_layernorm)])
        x = self.file.node('Add', [x, attended])
        return self.file.node('Add', [x, self._feed_forward(layer.mlp, self._normed(x, layer.post_attention_layernorm))])


def onnx_of(model, bits, length, unpack=False):
    """Returns the bytes of a file for a model of transformers: Llama, Qwen3 or Gemma 3."""
    return Writer(model, bits, length, unpack).bytes()
