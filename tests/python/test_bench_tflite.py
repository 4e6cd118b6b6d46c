"""Reads files that tests/bench/tflite.py wrote, by FlatBuffers' offsets and TensorFlow Lite's numbers."""

import os
import struct
import sys

import numpy
import pytest
import torch
from torch import nn

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(__file__)), "bench"))
import graph  # noqa: E402
import tflite  # noqa: E402


class Table:
    """A table of a file; table[n] is the position of field n, or None."""

    def __init__(self, data, at):
        self.data, self.at = data, at + struct.unpack_from("<I", data, at)[0]
        self.fields = self.at - struct.unpack_from("<i", data, self.at)[0]

    def __getitem__(self, n):
        size, = struct.unpack_from("<H", self.data, self.fields)
        place = struct.unpack_from("<H", self.data, self.fields + 4 + 2 * n)[0] if 4 + 2 * n < size else 0
        return self.at + place if place else None

    def number(self, n, kind="i"):
        return struct.unpack_from("<" + kind, self.data, self[n])[0]

    def vector(self, n, dtype="<i4"):
        at = self[n] + struct.unpack_from("<I", self.data, self[n])[0]
        return numpy.frombuffer(self.data, dtype, struct.unpack_from("<I", self.data, at)[0], at + 4)

    def tables(self, n):
        at = self[n] + struct.unpack_from("<I", self.data, self[n])[0]
        return [Table(self.data, at + 4 + 4 * i) for i in range(struct.unpack_from("<I", self.data, at)[0])]

    def text(self, n):
        return self.vector(n, "u1").tobytes().decode()


@pytest.mark.parametrize("int8", [False, True])
def test_a_written_model_reads_back(tmp_path, int8):
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Linear(4, 2)).eval()
    nn.init.uniform_(model[1].running_mean, -1, 1)
    nn.init.uniform_(model[1].running_var, 0.5, 2)
    path = tmp_path / "m.tflite"
    tflite.write(graph.lower(model, {"image": torch.randn(1, 3, 5, 7)}), path, int8)
    data = path.read_bytes()
    assert data[4:8] == b"TFL3"
    root = Table(data, 0)
    buffers, main = root.tables(4), root.tables(2)[0]
    tensors = main.tables(0)
    codes = [code.number(3) for code in root.tables(1)]
    operators = main.tables(3)
    assert [codes[op.number(0, "I")] for op in operators] == [3, 40, 22, 9]  # conv, mean, reshape, fully connected
    image = tensors[main.vector(1)[0]]
    assert (image.text(3), list(image.vector(0))) == ("image", [1, 5, 7, 3])

    def const(number):
        tensor = tensors[number]
        raw = buffers[tensor.number(2, "I")].vector(0, "u1")
        assert (raw.__array_interface__["data"][0] - numpy.frombuffer(data, "u1").__array_interface__["data"][0]) % 16 == 0
        kind = {0: "<f4", 2: "<i4", 9: "i1"}[tensor.number(1, "b")]
        return raw.view(kind).reshape(tensor.vector(0)), tensor

    _, weight, bias = operators[0].vector(1)
    scale = (model[1].weight / torch.sqrt(model[1].running_var + model[1].eps)).detach()
    numpy.testing.assert_allclose(const(weight)[0], (model[0].weight.detach() * scale[:, None, None, None]).permute(0, 2, 3, 1), rtol=1e-6)
    numpy.testing.assert_allclose(const(bias)[0], (model[1].bias - model[1].running_mean * scale).detach(), rtol=1e-6)
    assert [Table(data, operators[0][4]).number(n, "b") for n in (0, 3)] == [0, 1]  # SAME, relu
    rows, tensor = const(operators[3].vector(1)[1])
    if int8:
        scales = Table(data, tensor[4]).vector(2, "<f4")
        assert abs(rows).max(1).tolist() == [127, 127]
        rows = rows * scales[:, None]
    numpy.testing.assert_allclose(rows, model[5].weight.detach(), atol=abs(model[5].weight).max().item() / 254 if int8 else 0)
