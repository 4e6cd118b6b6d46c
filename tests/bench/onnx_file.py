"""Writes ONNX files: the few messages of ONNX's protocol buffers that text_onnx.py needs."""

import numpy

_TYPES = {'float32': 1, 'uint8': 2, 'int8': 3, 'int32': 6, 'int64': 7}


def _number(value):
    """Returns a varint. Negative numbers have 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def _field(number, value):
    """Returns a field: a number, or bytes, text and messages with their length."""
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    value = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(value)) + value


def _attribute(name, value):
    if isinstance(value, float):
        return _field(1, name) + _number(2 << 3 | 5) + numpy.float32(value).tobytes() + _field(20, 1)
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, 2)
    if isinstance(value, str):
        return _field(1, name) + _field(4, value) + _field(20, 3)
    return _field(1, name) + b''.join(_field(8, n) for n in value) + _field(20, 7)


def _port(name, dtype, shape):
    sizes = b''.join(_field(1, _field(1 if isinstance(n, int) else 2, n)) for n in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, _TYPES[dtype]) + _field(2, sizes)))


class OnnxFile:
    """A graph of nodes in order. Constants are initializers."""

    def __init__(self, opset=17):
        self.parts, self.opset, self.names = [], opset, 0

    def input(self, name, dtype, shape):
        self.parts.append((11, _port(name, dtype, shape)))
        return name

    def output(self, name, dtype, shape):
        self.parts.append((12, _port(name, dtype, shape)))

    def constant(self, array):
        array = numpy.ascontiguousarray(array)
        name = self._name('constant')
        sizes = b''.join(_field(1, n) for n in array.shape)
        self.parts.append((5, sizes + _field(2, _TYPES[str(array.dtype)]) + _field(8, name) + _field(9, array.tobytes())))
        return name

    def node(self, op, inputs, outputs=1, domain='', **attributes):
        """Adds a node, and returns the name of its output, or the list of the names that are given."""
        made = [self._name(op)] if outputs == 1 else list(outputs)
        self.parts.append((1, b''.join(
            [*(_field(1, name) for name in inputs), *(_field(2, name) for name in made), _field(3, self._name('node')), _field(4, op),
             *(_field(5, _attribute(*pair)) for pair in attributes.items()), _field(7, domain)])))
        return made[0] if outputs == 1 else made

    def own(self, op, inputs, outputs=1, **attributes):
        """Adds a node of onnxruntime's own operators."""
        return self.node(op, inputs, outputs, 'com.microsoft', **attributes)

    def bytes(self):
        graph = b''.join(_field(number, part) for number, part in self.parts) + _field(2, 'graph')
        opsets = _field(8, _field(1, '') + _field(2, self.opset)) + _field(8, _field(1, 'com.microsoft') + _field(2, 1))
        return _field(1, 8) + _field(7, graph) + opsets

    def _name(self, what):
        self.names += 1
        return f'{what}_{self.names}'
