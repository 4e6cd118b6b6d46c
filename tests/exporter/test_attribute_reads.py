"""Runs of PyTorch's graph share large tensors that the graph only reads, and copy the others."""

import pytest
import rushlight
import torch
from rushlight.front.torchscript import copies
from rushlight.front.torchscript.attribute_reads import only_read
from rushlight.front.torchscript.subject import Subject

SIZE = 800  # a matrix of halves has more than 1 MiB


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.table = torch.nn.Linear(SIZE, SIZE), torch.nn.Embedding(SIZE, SIZE)
        self.register_buffer("seen", torch.zeros(SIZE, SIZE))
        self.register_buffer("narrow", torch.randn(SIZE, SIZE).bfloat16())

    def forward(self, tokens):
        x = self.linear(self.table(tokens)) @ self.narrow.float()
        self.seen[0] += 1
        self.seen.t()[0] += 1
        return x + self.seen[:1]


def test_a_tensor_that_is_written_is_copied():
    module = torch.jit.script(Counting().eval())
    graph = module.graph.copy()
    torch._C._jit_pass_inline(graph)
    kept = only_read(module._c, graph)
    names = {name for name, tensor in copies.named_tensors(module._c) if id(tensor) in kept}
    assert names == {"linear.weight", "table.weight", "narrow"}
    copy = copies.deep(module._c, kept=kept)
    shared = {name for (name, a), (_, b) in zip(copies.named_tensors(module._c), copies.named_tensors(copy)) if a.data_ptr() == b.data_ptr()}
    assert shared == names


@pytest.mark.parametrize("make", [torch.jit.script, lambda m: torch.jit.trace(m, torch.tensor([1, 2]), check_trace=False)])
def test_answers_in_both_precisions_leave_the_model_as_it_was(make):
    module = make(Counting().eval())
    tokens, subject = torch.tensor([3, 1, 4]), Subject(module)
    seen = module.seen.clone()
    single, double = subject.graph_answer("forward", (tokens,), False), subject.graph_answer("forward", (tokens,), True)
    assert (single.dtype, double.dtype) == (torch.float32, torch.float64)
    torch.testing.assert_close(single, double.float(), rtol=1e-4, atol=1e-4)
    assert torch.equal(module.seen, seen)


def test_a_matrix_in_half_precision_that_the_program_converts_stays_so_in_the_file(tmp_path):
    report = rushlight.export(torch.jit.script(Counting().eval()), (torch.tensor([3, 1, 4]),), tmp_path / "m.rush")
    assert report.ops["rush::linear"] == 2 and "aten::to.dtype" not in report.ops
    assert report.weights_bytes < SIZE * SIZE * (3 * 4 + 2) + 8192
