"""Operators that only ExportedPrograms have: what a file runs of each, and that it is PyTorch's answer."""

import pytest
import rushlight
import torch
from recorded_programs import keep, session
from torch import nn
from torch.export import Dim, export


class Sizes(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return x.new_zeros([n**2]) + x.sum(), x * (n * 0.5 + 1)


def test_arithmetic_of_sizes():
    program = export(Sizes(), (torch.randn(4, 3),), dynamic_shapes=({0: Dim("n", min=2, max=64)},))
    report = keep("program_sizes", program, (torch.randn(4, 3),), (torch.randn(7, 3),), eager=Sizes())
    assert report.ops["aten::pow.int_to_int"] == 1


class Bits(nn.Module):
    def forward(self, x):
        return x.view(torch.int32), x.to(torch.float64).view(torch.int32)


def test_bits_of_another_dtype():
    x = torch.tensor([[0.0, -0.0, 1.0], [float("inf"), float("nan"), -2.5]])
    report = keep("program_view_dtype", export(Bits(), (x,)), (x,), eager=Bits())
    assert report.ops["aten::view.dtype"] == 2


class Asserts(nn.Module):
    def forward(self, x):
        torch._assert_async(x.sum() > 0)
        torch._assert_async(x.sum() < 9, "the sum is too large")
        return x + 1


def test_asserts_of_tensors():
    program = export(Asserts(), (torch.ones(3),))
    report = keep("program_asserts", program, (torch.ones(3),), (torch.tensor([1.0, 2.0, 4.0]),), eager=Asserts())
    assert report.ops["aten::_assert_async"] == 1 and report.ops["aten::_assert_async.msg"] == 1
    with pytest.raises(rushlight.RushlightError, match="the sum is too large"):
        session("program_asserts")(torch.full((3,), 5.0))
