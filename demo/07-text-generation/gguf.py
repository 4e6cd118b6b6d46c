"""Reads a GGUF file: its metadata, and its tensors as float32. It supports the packed types of SmolLM2's file."""

import struct

import numpy
import torch

NUMBERS = {0: 'B', 1: 'b', 2: 'H', 3: 'h', 4: 'I', 5: 'i', 6: 'f', 7: '?', 10: 'Q', 11: 'q', 12: 'd'}
TEXT, ARRAY = 8, 9
# The bytes of 32 weights of each packed type.
Q4_1 = numpy.dtype([('scale', '<f2'), ('least', '<f2'), ('steps', 'u1', 16)])
Q8_0 = numpy.dtype([('scale', '<f2'), ('steps', 'i1', 32)])


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, kind):
        value, = struct.unpack_from('<' + kind, self.data, self.at)
        self.at += struct.calcsize('<' + kind)
        return value

    def text(self):
        size = self.take('Q')
        self.at += size
        return bytes(self.data[self.at - size:self.at]).decode()

    def value(self, kind):
        if kind == TEXT:
            return self.text()
        if kind == ARRAY:
            inner, count = self.take('I'), self.take('Q')
            return [self.value(inner) for _ in range(count)]
        return self.take(NUMBERS[kind])


def _float32(data, kind, count):
    if kind == 0:
        return numpy.frombuffer(data, '<f4', count)
    if kind not in (3, 8):
        raise ValueError(f'weights of kind {kind} are not read here')
    blocks = numpy.frombuffer(data, Q4_1 if kind == 3 else Q8_0, count // 32)
    scale = blocks['scale'].astype('<f4')[:, None]
    if kind == 8:
        return (scale * blocks['steps']).ravel()
    steps = numpy.concatenate([blocks['steps'] & 15, blocks['steps'] >> 4], 1)
    return (scale * steps + blocks['least'].astype('<f4')[:, None]).ravel()


def read(path):
    """Returns ({name: metadata}, {name: tensor}) of a file."""
    data = numpy.memmap(path, mode='r')
    reader = _Reader(memoryview(data))
    if reader.take('I') != 0x46554747 or reader.take('I') != 3:
        raise ValueError(f'{path} is not a GGUF file of version 3')
    tensors, facts = reader.take('Q'), reader.take('Q')
    facts = {reader.text(): reader.value(reader.take('I')) for _ in range(facts)}
    heads = []
    for _ in range(tensors):
        name, rank = reader.text(), reader.take('I')
        heads.append((name, [reader.take('Q') for _ in range(rank)][::-1], reader.take('I'), reader.take('Q')))
    begin = -(-reader.at // 32) * 32  # tensors follow, aligned
    return facts, {name: torch.from_numpy(_float32(data[begin + at:], kind, numpy.prod(shape)).reshape(shape).copy())
                   for name, shape, kind, at in heads}
