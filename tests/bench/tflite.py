"""Writes a Graph as a .tflite file for LiteRT.js. The numbers are those of TensorFlow Lite's schema. A table is a list of fields.

`write(graph, path, int8=True)` stores the weights of linear layers as int8 with a scale for each row. LiteRT then quantizes
the inputs of these layers dynamically.
"""

import struct
from collections import deque

import numpy

FLOAT, INT, INT8 = 0, 2, 9
TYPES = {'float32': FLOAT, 'int32': INT}
ACT = {None: 0, 'relu': 1, 'relu6': 3}
SAME, VALID = 0, 1


# ---- FlatBuffers: values with their encoding --------------------------------------------------------

class Scalar:
    def __init__(self, kind, value):
        self.bytes = struct.pack('<' + kind, value)


def byte(x): return Scalar('b', x)
def int32(x): return Scalar('i', x)
def float32(x): return Scalar('f', x)


class Vector:
    """A vector of numbers. Bytes are aligned to 16, because runtimes need this for the data of tensors."""

    def __init__(self, array, dtype):
        self.array = numpy.ascontiguousarray(array, dtype)


class Table:
    def __init__(self, *fields):
        self.fields = fields  # by number; None is left out


def flatbuffer(root, identifier):
    """Returns the bytes of a Table. Referenced objects follow it, because offsets count forwards."""
    out = bytearray(4) + identifier
    waiting = deque([(0, root)])  # (position of an offset, its target)

    def align(size, ahead=0):
        out.extend(bytes(-(len(out) + ahead) % size))

    while waiting:
        at, value = waiting.popleft()
        if isinstance(value, Table):
            place = table(out, align, value.fields, waiting)
        elif isinstance(value, str):
            align(4)
            place = len(out)
            out += struct.pack('<I', len(value.encode())) + value.encode() + b'\0'
        elif isinstance(value, Vector):
            align(16 if value.array.itemsize == 1 else value.array.itemsize, 4)
            place = len(out)
            out += struct.pack('<I', value.array.size) + value.array.tobytes()
        else:  # a list of tables
            align(4)
            place = len(out)
            out += struct.pack('<I', len(value))
            for item in value:
                waiting.append((len(out), item))
                out += bytes(4)
        struct.pack_into('<I', out, at, place - at)
    return bytes(out)


def table(out, align, fields, waiting):
    """Writes the vtable and then the table. Returns the table's position."""
    sizes = [0 if f is None else len(f.bytes) if isinstance(f, Scalar) else 4 for f in fields]
    places, end = [0] * len(fields), 4
    for size in (4, 2, 1):
        for i, n in enumerate(sizes):
            if n == size:
                places[i], end = end, end + size
    align(2)
    list_at = len(out)
    out += struct.pack(f'<HH{len(fields)}H', 4 + 2 * len(fields), end, *places)
    align(4)
    place = len(out)
    out += struct.pack('<i', place - list_at) + bytes(end - 4)
    for field, at in zip(fields, places):
        if isinstance(field, Scalar):
            out[place + at:place + at + len(field.bytes)] = field.bytes
        elif field is not None:
            waiting.append((place + at, field))
    return place


# ---- The schema ---------------------------------------------------------------------------------------

#: An operator's number, its version, and its options: their type and fields, or nothing.
CODES = {'add': 0, 'cat': 2, 'conv': 3, 'depthwise': 4, 'linear': 9, 'sigmoid': 14, 'pool': 17, 'mul': 18, 'relu': 19, 'relu6': 21, 'reshape': 22,
         'softmax': 25, 'tanh': 28, 'pad': 34, 'gather': 36, 'transpose': 39, 'mean': 40, 'sub': 41, 'div': 42, 'cast': 53, 'maximum': 55,
         'slice': 65, 'deconv': 67, 'sum': 74, 'sqrt': 75, 'rsqrt': 76, 'abs': 101, 'hardswish': 117, 'matmul': 126, 'gelu': 150, 'gelu_tanh': 150}
VERSIONS = {'deconv': 3}


class Writer:
    def __init__(self, graph, int8):
        self.graph, self.int8 = graph, int8
        self.tensors, self.buffers, self.operators, self.codes, self.at = [], [Table()], [], [], {}
        for x in graph.inputs:
            self.tensor(x.name, x.lies, TYPES[x.dtype])
        for node in graph.nodes:
            getattr(self, node['op'], self.plain)(node)

    def tensor(self, name, shape, kind=FLOAT, data=None, scales=None):
        """Adds a tensor and returns its number. With data it is a constant."""
        if data is not None:
            self.buffers.append(Table(Vector(numpy.frombuffer(data.tobytes(), 'u1'), 'u1')))
        quantized = None if scales is None else Table(None, None, Vector(scales, 'f4'), Vector(numpy.zeros(len(scales)), 'i8'))
        self.tensors.append(Table(Vector(shape, 'i4'), byte(kind), int32(0 if data is None else len(self.buffers) - 1), name, quantized))
        self.at[name] = len(self.tensors) - 1
        return self.at[name]

    def const(self, values, kind=INT):
        values = numpy.ascontiguousarray(values, 'i4' if kind == INT else 'f4')
        return self.tensor(f'k{len(self.tensors)}', values.shape, kind, values)

    def get(self, name):
        if name not in self.at:
            data = self.graph.consts[name].numpy()
            self.tensor(name, data.shape, TYPES[str(data.dtype)], data)
        return self.at[name]

    def kept(self, name, change):
        """Returns a constant in another form, which is made once."""
        key = f'{name}~'
        if key not in self.at:
            data, kind, scales = change(self.graph.consts[name].numpy())
            self.tensor(key, data.shape, kind, data, scales)
        return self.at[key]

    def shape(self, name):
        node = self.graph.by_name.get(name)
        return node['shape'] if node else next(x.lies for x in self.graph.inputs if x.name == name)

    def new(self, shape):
        return self.tensor(f'x{len(self.tensors)}', shape)

    def emit(self, op, inputs, out, kind=0, options=None):
        code = (CODES[op], VERSIONS.get(op, 1))
        if code not in self.codes:
            self.codes.append(code)
        self.operators.append(Table(int32(self.codes.index(code)), Vector(inputs, 'i4'), Vector([out], 'i4'),
                                    byte(kind) if options else None, options))
        return out

    def out(self, node):
        return self.tensor(node['out'], node['shape'], TYPES[node['dtype']])

    # Each function emits an operator: its inputs, and its options' type and fields.

    def plain(self, node):
        act = byte(ACT[node['act']])
        kind, options = {'add': (11, Table(act)), 'mul': (21, Table(act)), 'sub': (28, Table(act)), 'div': (29, Table(act)),
                         'softmax': (9, Table(float32(1))), 'gelu': (116, Table(byte(0))), 'gelu_tanh': (116, Table(byte(1))),
                         'matmul': (101, Table(byte(0), byte(node.get('turned', 0)))), 'cat': (10, Table(int32(node.get('axis', 0)))),
                         'gather': (23, Table(int32(0))), 'maximum': (39, Table()),
                         'cast': (37, Table(byte(INT), byte(FLOAT)))}.get(node['op'], (0, None))
        self.emit(node['op'], [self.get(x) for x in node['in']], self.out(node), kind, options)

    def reshape(self, node):
        self.emit('reshape', [self.get(node['in'][0]), self.const(node['shape'])], self.out(node), 17, Table(Vector(node['shape'], 'i4')))

    def transpose(self, node):
        self.emit('transpose', [self.get(node['in'][0]), self.const(node['axes'])], self.out(node), 26, Table())

    def slice(self, node):
        self.emit('slice', [self.get(node['in'][0]), self.const(node['begin']), self.const(node['size'])], self.out(node), 48, Table())

    def mean(self, node):
        self.emit(node['op'], [self.get(node['in'][0]), self.const(node['axes'])], self.out(node), 27, Table(byte(node['keep'])))

    sum = mean

    def pad(self, node):
        self.emit('pad', [self.get(node['in'][0]), self.const(node['by'])], self.out(node), 22, Table())

    def padded(self, node, p):
        """Returns the number of a node's input, padded with p zeros on each side."""
        x = self.get(node['in'][0])
        if not p:
            return x
        n, h, w, c = self.shape(node['in'][0])
        by = self.const([[0, 0], [p, p], [p, p], [0, 0]])
        return self.emit('pad', [x, by], self.new([n, h + 2 * p, w + 2 * p, c]), 22, Table())

    def conv(self, node):
        kh, kw = self.graph.consts[node['in'][1]].shape[:2]
        same = node['stride'] == 1 and kh == kw == 2 * node['pad'] + 1  # SAME equals PyTorch's padding here
        x = self.get(node['in'][0]) if same else self.padded(node, node['pad'])
        w = self.kept(node['in'][1], lambda w: (w.transpose(3, 0, 1, 2), FLOAT, None))
        stride, act, padding = int32(node['stride']), byte(ACT[node['act']]), byte(SAME if same else VALID)
        kind, options = (1, Table(padding, stride, stride, act)) if node['op'] == 'conv' else (2, Table(padding, stride, stride, int32(1), act))
        self.emit(node['op'], [x, w, self.get(node['in'][2])], self.out(node), kind, options)

    depthwise = conv

    def deconv(self, node):
        w = self.kept(node['in'][1], lambda w: (w.transpose(2, 0, 1, 3), FLOAT, None))
        stride = int32(node['stride'])
        self.emit('deconv', [self.const(node['shape']), w, self.get(node['in'][0]), self.get(node['in'][2])], self.out(node),
                  49, Table(byte(VALID), stride, stride))

    def pool(self, node):
        stride, size = int32(node['stride']), int32(node['size'])
        self.emit('pool', [self.padded(node, node['pad'])], self.out(node), 5, Table(byte(VALID), stride, stride, size, size))

    def linear(self, node):
        w = self.kept(node['in'][1], self.rows)
        bias = self.get(node['in'][2]) if len(node['in']) > 2 else -1
        self.emit('linear', [self.get(node['in'][0]), w, bias], self.out(node), 8,
                  Table(byte(ACT[node['act']]), byte(0), byte(len(node['shape']) > 2)))

    def rows(self, w):
        if not self.int8:
            return w.T, FLOAT, None
        scales = numpy.abs(w).max(0) / 127
        return numpy.rint(w / scales).astype('i1').T, INT8, scales

    def layernorm(self, node):
        x, w, b = (self.get(name) for name in node['in'])
        shape = node['shape']
        one, axis, none = shape[:-1] + [1], self.const([len(shape) - 1]), byte(0)
        mean = lambda x: self.emit('mean', [x, axis], self.new(one), 27, Table(byte(1)))
        off = self.emit('sub', [x, mean(x)], self.new(shape), 28, Table(none))
        variance = mean(self.emit('mul', [off, off], self.new(shape), 21, Table(none)))
        variance = self.emit('add', [variance, self.const([node['eps']], FLOAT)], self.new(one), 11, Table(none))
        unit = self.emit('mul', [off, self.emit('rsqrt', [variance], self.new(one))], self.new(shape), 21, Table(none))
        self.emit('add', [self.emit('mul', [unit, w], self.new(shape), 21, Table(none)), b], self.out(node), 11, Table(none))

    def model(self):
        tensors = lambda values: Vector([self.at[x.name] for x in values], 'i4')
        graph = Table(self.tensors, tensors(self.graph.inputs), tensors(self.graph.outputs), self.operators, 'main')
        codes = [Table(byte(min(code, 127)), None, int32(version), int32(code)) for code, version in self.codes]
        return Table(int32(3), codes, [graph], 'rushlight bench', self.buffers)


def write(graph, path, int8=False):
    path.write_bytes(flatbuffer(Writer(graph, int8).model(), b'TFL3'))
