"""After a trace, all replaced parts of PyTorch are PyTorch's own again. Other threads never see the replacements."""

import builtins
import sys
import threading

import pytest
import rushlight
import torch
from rushlight.front.patches import PATCHES, TRACE, applied
from torch import nn

X = torch.rand(2, 4)


def replaced():
    """Returns the current values of all attributes that patches replace."""
    from torch.fx.experimental import proxy_tensor, symbolic_shapes

    return [builtins.len, torch.compile, torch.Tensor.data, torch.autograd.Function.apply, torch.autograd._make_grads,
            torch.autocast.__enter__, torch._jit_internal.module_has_exports, symbolic_shapes.sym_eq, nn.TransformerEncoder.forward,
            torch.backends.mha.get_fastpath_enabled(), torch.fx._symbolic_trace._is_fx_tracing_flag,
            dict(torch.ops.aten.multilabel_margin_loss_forward.default.py_kernels),
            hasattr(proxy_tensor.PythonKeyTracer, "record_stack_traces") and proxy_tensor.PythonKeyTracer.record_stack_traces,
            *(hasattr(torch.Tensor, name) for name in ("__round__", "is_integer", "bit_length", "astype"))]


def in_another_thread(function):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(function()))
    thread.start()
    thread.join()
    return answers[0]


@pytest.mark.parametrize("key", PATCHES)
def test_a_patch_ends_with_its_block(key):
    before = replaced()
    with applied(nn.Linear(4, 3), (key,)):
        pass
    assert replaced() == before
    with pytest.raises(ZeroDivisionError), applied(nn.Linear(4, 3), (key,)):
        1 / 0
    assert replaced() == before
    assert PATCHES[key].reason


def test_a_replaced_function_works_from_the_moment_it_is_set():
    """A profiler, a signal handler or a finalizer may call len() while the patch is applied."""
    before, lengths = builtins.len, []
    sys.setprofile(lambda *_: lengths.append(builtins.len("ab")))
    try:
        with applied(nn.Linear(4, 3), ("len",)):
            pass
    finally:
        sys.setprofile(None)
    assert builtins.len is before and set(lengths) == {2}


class Fails(nn.Module):
    def forward(self, x):
        if torch._C._get_tracing_state():
            raise KeyError("the model's own")
        return x


@pytest.mark.parametrize("model", [nn.Linear(4, 3), Fails()])
def test_pytorch_is_its_own_again_after_an_export(model, tmp_path):
    before = replaced()
    try:
        rushlight.export(model, X, str(tmp_path / "m.rush"))
    except KeyError:
        assert isinstance(model, Fails)
    assert replaced() == before


def test_other_threads_see_pytorchs_own(tmp_path):
    """Trains in another thread during a trace: x.data has its own version counter there, and gradients are computed."""
    def own_version():
        x = torch.zeros(3)
        x.data.add_(1)
        return x._version

    def gradient():
        x = torch.ones(3, requires_grad=True)
        return torch.autograd.grad((x * 2).sum(), x)[0].tolist()

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    def square():
        x = torch.full((2,), 3.0, requires_grad=True)
        Square.apply(x).sum().backward()
        return x.grad.tolist()

    with applied(nn.Linear(4, 3), (*TRACE, "len", "refused gradients")):
        assert in_another_thread(own_version) == 0 and own_version() == 1
        assert in_another_thread(gradient) == [2.0, 2.0, 2.0]
        assert in_another_thread(square) == [6.0, 6.0]


def test_a_second_thread_exports_when_the_first_has_ended(tmp_path):
    order, threads = [], []

    class First(nn.Module):
        def forward(self, x):
            if not threads:
                order.append("first begins")
                started = threading.Event()
                threads.append(threading.Thread(target=second, args=(started,)))
                threads[0].start()
                started.wait()
                for _ in range(200):  # gives a thread that does not wait enough time
                    torch.add(x, 1)
                order.append("first has run")
            return x

    def second(started):
        started.set()
        rushlight.export(Second(), X, str(tmp_path / "second.rush"))

    class Second(nn.Module):
        def forward(self, x):
            order.append("second runs")
            return x * len(x)

    before = replaced()
    rushlight.export(First(), X, str(tmp_path / "first.rush"))
    threads[0].join()
    assert order[:2] == ["first begins", "first has run"] and "second runs" in order
    assert replaced() == before
