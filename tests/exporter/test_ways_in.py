"""Forms of models and inputs: wrappers, inputs by name, and inputs that are not tensors."""

import collections
import math
import os
import sys
import threading
import types

import numpy as np
import pytest
import rushlight
import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.testing import assert_close

X = torch.rand(2, 4)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, input_ids, scale=None, attention_mask=None):
        y = self.linear(input_ids)
        if scale is not None:
            y = y * scale
        return y if attention_mask is None else y - attention_mask


class Encoding(collections.UserDict):
    """A mapping that is not a dict, like a tokenizer's BatchEncoding."""


def inputs(path):
    return rushlight.load(path).inputs()


@pytest.mark.parametrize("kind", [dict, Encoding])
@pytest.mark.parametrize("front", [
    lambda m: m,
    lambda m: lambda input_ids, attention_mask: m.requires_grad_(False)(input_ids, attention_mask=attention_mask),
    lambda m: torch.export.export(m, (X + 1,), {"attention_mask": X}),
    torch.fx.symbolic_trace,
], ids=["module", "function", "ExportedProgram", "GraphModule"])
def test_inputs_by_name_come_in_forwards_order(kind, front, out):
    class Both(Masked):
        def forward(self, input_ids, attention_mask=None):
            return self.linear(input_ids) - 2 * attention_mask

    model = Both()
    given = kind({"attention_mask": X, "input_ids": X + 1})
    assert rushlight.export(front(model), given, out).verified == 1
    session = rushlight.load(out)
    assert session.inputs() == ["input_ids", "attention_mask"]
    assert_close(session.run(dict(given))[session.outputs()[0]], model(**given))


def test_inputs_by_name_leave_out_what_is_none(out):
    model = Masked()
    for given in {"attention_mask": X, "input_ids": X + 1, "scale": None}, (X + 1, None, X):
        rushlight.export(model, given, out)
        assert inputs(out) == ["input_ids", "attention_mask"]
        assert_close(rushlight.load(out).run({"input_ids": X, "attention_mask": X})["output"], model(X, None, X))
    assert rushlight.diff(out, model, {"attention_mask": X, "input_ids": X + 1}).agree


def test_a_session_takes_the_none_of_the_example(out):
    model = Masked()
    want = model(X, None, X)
    rushlight.export(model, (X, None, X), out)
    session = rushlight.load(out)
    for answer in (session(X, None, X), session(X, X), session(X, scale=None, attention_mask=X), session(X, None, attention_mask=X),
                   session(input_ids=X, scale=None, attention_mask=X), session.clone()(X, None, X)):
        assert_close(answer, want)
    assert_close(session.run({"input_ids": X, "scale": None, "attention_mask": X})["output"], want)
    other = r"the input 'scale' must be None, as in the example inputs of the export, got "
    for call in lambda: session(X, X, X), lambda: session(X, X, attention_mask=X, scale=X):
        with pytest.raises(TypeError, match=rf"forward\(\): {other}Tensor"):
            call()
    with pytest.raises(ValueError, match=other + "float"):
        session.run({"input_ids": X, "attention_mask": X, "scale": 1.0})
    with pytest.raises(TypeError, match="there is no input 'mask'"):
        session(X, None, mask=X)
    with pytest.raises(TypeError, match="takes 2 inputs .*, got 3"):
        session(X, None, X, None)


def test_the_none_of_an_example_is_one_of_its_method(out):
    model = Masked()
    rushlight.export({"a": (model, {"input_ids": X, "attention_mask": None}), "b": (model, (X, X))}, path=out)
    session = rushlight.load(out)
    assert_close(session.call("a", X, None), model(X))
    assert_close(session.call("a", X, attention_mask=None), model(X))
    with pytest.raises(TypeError, match="takes 2 inputs"):
        session.call("b", X, X, None)


class Pair(nn.Module):
    def forward(self, a, pair):
        return 2 * a + pair[0] - pair[1] ** 2


def test_one_tensor_for_several_named_inputs_is_an_example_of_each(out):
    for same in X, X[:1].expand_as(X):
        rushlight.export(Pair(), {"a": same, "pair": [same, same]}, out)
        a, b, c = torch.rand(3, *X.shape)
        assert_close(rushlight.load(out)(a, [b, c]), Pair()(a, [b, c]))


class Keywords(Masked):
    def forward(self, x=None, *, mask, **more):
        return {"y": self.linear(more["z"] if x is None else x) - 2 * mask, "n": mask.shape[0]}


def only_keywords(*args, **more):
    return more["x"] - 2 * more["mask"]


@pytest.mark.parametrize("model, names", [(Keywords(), ["mask", "z"]), (Keywords(), ["x", "mask"]), (only_keywords, ["x", "mask"])])
def test_inputs_that_have_names_alone(model, names, out):
    given = dict(zip(names, (X, X + 1)))
    rushlight.export(model, given, out, dynamic_shapes={name: {0: "n"} for name in names})
    session = rushlight.load(out)
    assert session.inputs() == names
    given = dict(zip(names, (torch.rand(3, 4), torch.rand(3, 4))))
    got, want = session.run(given), model(**given)
    assert_close(got if isinstance(want, dict) else got["output"], want)


def test_a_scripted_module_takes_names_and_its_defaults(out):
    class Scripted(nn.Module):
        def forward(self, x, times: int = 3, y: int = 0):
            return x * times + y

    model = torch.jit.script(Scripted())
    rushlight.export(model, {"y": 2, "x": X}, out)
    assert_close(rushlight.load(out)(X, 3, 2), model(X, 3, 2))
    with pytest.raises(ValueError, match="must have the input 'x'; the inputs of the model are x, times, y"):
        rushlight.export(model, {"y": 2}, out)


def test_a_name_that_the_model_does_not_have_is_refused_with_those_that_it_has(out):
    with pytest.raises(ValueError, match="'token_type_ids', which the model does not have: its inputs are input_ids, scale, attention_mask"):
        rushlight.export(Masked(), {"input_ids": X, "token_type_ids": X}, out)


class Nested(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.first, self.second = first, nn.Linear(3, 2)

    def forward(self, x):
        return self.second(self.first(x))


def compiled_in_place():
    module = nn.Linear(4, 3)
    module.compile()
    return module


class Decorated(nn.Linear):
    @torch.compile
    def forward(self, x):
        return torch.compile(torch.relu)(super().forward(x))


@pytest.mark.parametrize("model", [
    lambda: torch.compile(nn.Linear(4, 3)), lambda: nn.DataParallel(nn.Linear(4, 3)), lambda: Nested(torch.compile(nn.Linear(4, 3))),
    lambda: Nested(compiled_in_place()), lambda: torch.compile(lambda x: torch.relu(x)), lambda: Nested(Decorated(4, 3)),
], ids=["compiled", "DataParallel", "compiled inside", "compile()", "compiled function", "compiled method"])
def test_wrappers_are_taken_off(model, out):
    model = model()
    before = list(model.modules()) if isinstance(model, nn.Module) else None
    rushlight.export(model, X, out)
    if before:
        assert list(model.modules()) == before
    with torch.compiler.set_stance("force_eager"):
        assert_close(rushlight.load(out)(X), model(X))


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.save_for_backward(x)
        return x.exp() * by if len(ctx.needs_input_grad) == 2 else x

    @staticmethod
    def backward(ctx, g):
        return g, None


class Apart(torch.autograd.Function):
    @staticmethod
    def forward(x, by=2):
        return x.exp() * by

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


kept_apply = Doubled.apply


class WithFunctions(nn.Module):
    def forward(self, x):
        return Doubled.apply(x, 2) + Apart.apply(x, 3)


def test_the_forward_of_an_autograd_function_is_traced(out):
    report = rushlight.export(WithFunctions(), X, out)
    assert "aten::exp" in report.ops
    assert_close(rushlight.load(out)(X), WithFunctions()(X))
    x = X.clone().requires_grad_()
    with torch.enable_grad():
        assert "Doubled" in type(Doubled.apply(x, 2).grad_fn).__name__  # as before


def test_an_apply_that_was_kept_is_opened_or_refused_by_name(out):
    class Net(nn.Module):
        def forward(self, x):
            return kept_apply(x, 4)

    if isinstance(kept_apply, types.BuiltinMethodType):  # as later versions of torch have it
        with pytest.raises(rushlight.RushlightError, match="cannot export a call of the Python function"):
            rushlight.export(Net(), X, out)
    else:
        rushlight.export(Net(), X, out)
        assert_close(rushlight.load(out)(X), Net()(X))


class Bools(nn.Module):
    """Bools where an operator takes a number."""

    def forward(self, x):
        on = torch.full(x.shape, True).masked_fill(x > 0.9, False)
        on = torch.where(x > 0.1, on, False) == True  # noqa: E712 - that is the point
        on = on | torch.full_like(on, fill_value=False) | x.new_full(x.shape, False, dtype=torch.bool) | torch.zeros_like(on).fill_(False)
        return on, x.masked_fill(on, True), torch.where(on, True, x), on * True, x + True, torch.full((2,), True, dtype=torch.float32)


def test_a_bool_where_a_number_is_wanted_is_traced(out):
    before = torch.full, torch.Tensor.fill_, torch.Tensor.__eq__
    report = rushlight.export(Bools(), X, out)
    assert not report.warnings and (torch.full, torch.Tensor.fill_, torch.Tensor.__eq__) == before
    for came, wanted in zip(rushlight.load(out)(X), Bools()(X)):
        assert came.dtype == wanted.dtype
        assert_close(came, wanted)
    text = rushlight.describe(out)
    assert f"test_ways_in.py:{Bools.forward.__code__.co_firstlineno + 4}" in text and "rushlight/front" not in text


HALVES, ON = torch.tensor([-1.0, -0.5, 0.0, 0.5, 1.0]), torch.tensor([True, False, True, True, False])


@pytest.mark.parametrize("call", [
    lambda x, on: x.clamp(False, True), lambda x, on: x.clamp(min=False), lambda x, on: x ** True, lambda x, on: True ** x,
    lambda x, on: x % True, lambda x, on: torch.lerp(x, 2 * x, True), lambda x, on: torch.addcmul(x, x, x, value=True),
    lambda x, on: x.ge(True), lambda x, on: on < True, lambda x, on: on ^ True, lambda x, on: on.clone().__iand__(True),
    lambda x, on: x.scatter(0, torch.tensor([1]), True), lambda x, on: on.clone().scatter_(0, torch.tensor([1]), False),
    lambda x, on: on.index_fill(0, torch.tensor([1]), True), lambda x, on: nn.functional.leaky_relu(x, True),
    lambda x, on: nn.functional.hardtanh(x, False, True), lambda x, on: nn.functional.threshold(x, False, True),
    lambda x, on: torch.norm(x, True), lambda x, on: torch.norm(x.unsqueeze(0), True, 1, True), lambda x, on: torch.xlogy(True, x.abs()),
    lambda x, on: torch.linspace(False, True, 3) * x.sum(), lambda x, on: torch.where(on, True, False),
    lambda x, on: torch.full((2,), True), lambda x, on: torch.full((2,), fill_value=True), lambda x, on: torch.full_like(on, True),
    lambda x, on: torch.scalar_tensor(True) + x, lambda x, on: on.long() == True,  # noqa: E712 - that is the point
])
def test_every_operator_takes_a_bool_for_a_number_in_a_trace(call, out):
    with pytest.raises(RuntimeError, match="We don't have an op for"):  # of PyTorch itself
        torch.jit.trace(call, (HALVES, ON), check_trace=False)
    rushlight.export(call, (HALVES, ON), out)
    came, wanted = rushlight.load(out)(HALVES, ON), call(HALVES, ON)
    assert came.dtype == wanted.dtype
    assert_close(came, wanted)


class Holds(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.held, self.linear = value, nn.Linear(4, 3)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.linear(x) + self.calls


@pytest.mark.parametrize("value", [math, threading.Lock()], ids=["a Python module", "a lock"])
def test_a_module_that_holds_what_cannot_be_copied_is_exported(value, out):
    model = Holds(value)
    assert rushlight.export(model, X, out).verified == 1
    assert model.calls == 0 and model.held is value
    assert_close(rushlight.load(out)(X), model(X))


class Filter(nn.Module):
    """Computes y[i] = x[i] - y[i - 1] / 2, as torchaudio's lfilter does."""

    def forward(self, x):
        y = torch.zeros_like(x[:, 0])
        out = []
        for part in x.unbind(1):
            y = part - 0.5 * y
            out.append(y.clone())
        return torch.stack(out, 1)


def test_a_loop_that_tracing_has_unrolled_is_told(out):
    line = Filter.forward.__code__.co_firstlineno + 5
    with pytest.warns(UserWarning, match=r"^forward: 360 of \d+ instructions are 120 iterations of the same 3 at .*test_ways_in.py:"
                      rf"({line - 1}|{line}): tracing has unrolled a loop.*torch.jit.script"):
        report = rushlight.export(Filter(), torch.rand(2, 120), out)
    assert report.warnings and report.verified == 1
    layers = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(40)))
    assert not rushlight.export(layers, X, out).warnings  # a deep network also repeats nodes
    assert not rushlight.export(Filter(), torch.rand(2, 60), out).warnings


class Windows(nn.Module):
    """torchaudio's lfilter: each iteration writes where later ones read."""

    def forward(self, x, a):
        order = a.size(1)
        y = torch.zeros(x.size(0), x.size(1), x.size(2) + order - 1)
        for i, part in enumerate((x * 2).permute(2, 0, 1)):
            part -= (y[:, :, i:i + order].transpose(0, 1) @ a.flip(1).unsqueeze(2))[..., 0].t()
            y[:, :, i + order - 1] = part
        return y[:, :, order - 1:]


class Biquad(nn.Module):
    """A loop that reads two iterations back, and a list with more items than iterations."""

    def forward(self, x):
        y = before = x[:, 0]
        out = [y * 3]
        for part in x.unbind(1):
            y, before = part - 0.5 * y - 0.25 * before, y
            out.append(y.clone())
        return torch.stack([*out, before], 1), y


class Decay(nn.Module):
    """Each iteration has its own number."""

    def forward(self, x):
        y, out = x[:, 0], []
        for i, part in enumerate(x.unbind(1)):
            y = part - math.sin(i) * y
            out.append(y.clone())
        return torch.stack(out, 1)


@pytest.mark.parametrize("model, shapes", [(Filter(), [(2, 400)]), (Windows(), [(2, 3, 130), (3, 4)]), (Biquad(), [(2, 250)])],
                         ids=["a list", "in place", "two rounds back"])
def test_a_loop_that_tracing_has_unrolled_is_a_loop(model, shapes, out):
    inputs = tuple(torch.rand(shape) / 3 for shape in shapes)
    report = rushlight.export(model, inputs, out)
    assert not any("unrolled" in w for w in report.warnings) and report.verified == 1 and sum(report.ops.values()) < 120, str(report)
    others = tuple(torch.rand(shape) / 3 for shape in shapes)
    assert_close(rushlight.load(out)(*others), model(*others))
    assert rushlight.diff(out, model, inputs)


def test_rounds_with_numbers_of_their_own_stay(out):
    with pytest.warns(UserWarning, match="tracing has unrolled a loop"):
        report = rushlight.export(Decay(), torch.rand(2, 400), out)
    assert report.verified == 1 and report.ops["aten::sub.Tensor"] == 400


class Chosen(nn.Module):
    """Sizes and indices that data decides, as tracing does not see."""

    def forward(self, x, scale, lengths):
        many = (x > 0.5).sum().item()
        return (x[x > 0.5].view(many, 1) * scale).sum() + x[:, :int(lengths.max())].sum()


@pytest.mark.parametrize("x, lengths, says, line", [
    (torch.linspace(0, 1, 12).view(3, 4) ** 2, torch.tensor([4, 4, 4]), "the values of x: .*is invalid for input of size", 4),
    (torch.ones(3, 4), torch.tensor([1, 2, 4]), "the values of lengths: .*expected ", 5),
], ids=["a size", "an end"])
def test_numbers_that_a_trace_has_fixed_are_told_with_their_input(x, lengths, says, line, out):
    line += Chosen.forward.__code__.co_firstlineno - 3
    with pytest.raises(rushlight.RushlightError, match=rf"^tracing fixed numbers that depend on {says}(.|\n)*test_ways_in.py:{line}: Converting"):
        rushlight.export(Chosen(), (x, torch.rand(3, 1)[:1], lengths), out)
    report = rushlight.export(Chosen(), (x, torch.rand(1, 1), lengths), out, test_vectors=False)
    assert report.verified == 1 and report.test_vectors == 0


def test_texts_of_megabytes_are_not_stored(out):
    with pytest.warns(UserWarning, match=r"^PyTorch's graph is \d MiB of text, which is not stored$"):
        rushlight.export(Filter(), torch.rand(2, 4000), out)
    assert os.path.getsize(out) < 2 << 20


def causal(b, h, i, j):
    return i >= j


class Flexible(nn.Module):
    """A function of torch that compiles itself when it is called."""

    def __init__(self, mask, **options):
        super().__init__()
        self.mask, self.options, self.slopes = mask, options, nn.Parameter(torch.rand(4))

    def forward(self, q, k, v):
        return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score - self.slopes[h] * (i - j), block_mask=self.mask, **self.options)


@pytest.mark.parametrize("mask, options", [
    (None, {}), ((causal, 1, 1), {"scale": 0.25}), ((lambda b, h, i, j: (i - j < 3) & (j <= i - b - h), 2, 4), {"return_lse": True}),
], ids=["without a mask", "causal", "with rows that see nothing"])
def test_flex_attention_is_traced_as_what_it_computes(mask, options, out):
    if mask:
        function, batch, heads = mask
        mask = create_block_mask(function, batch, heads, 128, 128, device="cpu")
    model = Flexible(mask, enable_gqa=True, **options).eval()
    q, k, v = torch.rand(2, 4, 128, 8), torch.rand(2, 2, 128, 8), torch.rand(2, 2, 128, 8)
    report = rushlight.export(model, (q, k, v), out)
    assert not report.warnings
    with torch.no_grad():
        assert_close(rushlight.load(out)(q, k, v), model(q, k, v), atol=1e-5, rtol=1e-4)


def test_flex_attention_takes_other_lengths(out):
    model = Flexible(None).eval()
    rushlight.export(model, (torch.rand(1, 4, 6, 8),) * 3, out, dynamic_shapes=({0: "b", 2: "n"},) * 3)
    q = torch.rand(3, 4, 9, 8)
    with torch.no_grad():
        assert_close(rushlight.load(out)(q, q, q), model(q, q, q), atol=1e-5, rtol=1e-4)


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x) + 1


@pytest.mark.parametrize("model", [
    lambda: nn.BatchNorm1d(4, device="meta"), lambda: torch.jit.script(nn.Linear(4, 3, device="meta")),
    lambda: torch.fx.symbolic_trace(nn.Linear(4, 3, device="meta")),
    lambda: torch.export.export(nn.Linear(4, 3, device="meta"), (X.to("meta"),)),
], ids=["module", "script", "FX", "ExportedProgram"])
def test_a_model_on_the_meta_device_has_no_weights_to_store(model, out):
    with pytest.raises(rushlight.RushlightError, match="weight must have values, got a tensor on the meta device: load the weights first"):
        rushlight.export(model(), X, out)


class Data(nn.Module):
    """Reads and writes by .data, which neither PyTorch's tracer nor torch.export records."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        y = x.new_zeros(x.shape)
        y.data[:, :2].copy_(x[:, :2])
        return y + x.data * self.weight.data


def test_data_is_traced(out):
    x = torch.randn(3, 4)
    rushlight.export(Data(), torch.randn(2, 4), out, dynamic_shapes={"x": {0: "n"}})
    assert torch.equal(rushlight.load(out)(x), Data()(x))
    assert "data" not in vars(torch.Tensor)


def test_a_constant_that_torch_export_kept_no_values_of_is_named(out):
    program = torch.export.export(Data(), (torch.randn(2, 4),), strict=False)
    with pytest.raises(rushlight.RushlightError, match=r"kept no values of the tensor \w+\. .* through \.data: export the model itself"):
        rushlight.export(program, None, out)


def test_what_a_trace_sets_in_python_is_not_in_the_answer_that_it_is_compared_with(out):
    class Steps(nn.Module):
        def __init__(self):
            super().__init__()
            self.step, self.weight = 3, nn.Parameter(torch.ones(4))

        def forward(self, x):
            self.step += 1
            return x * self.weight * self.step

    x = torch.randn(2, 4)
    assert rushlight.export(Steps(), x, out).verified
    assert torch.equal(rushlight.load(out)(x), x * 4)


def test_an_example_on_the_meta_device_is_refused(out):
    with pytest.raises(ValueError, match="example_inputs must be on the CPU, got a tensor on the meta device"):
        rushlight.export(nn.Linear(4, 3), X.to("meta"), out)


@pytest.mark.parametrize("model, given, says", [
    (lambda x, mode: x, (X, "a"), "got str: bind the others .* torch.jit.script"),
    (nn.MultiheadAttention(4, 2), (X, X, X, None, False), "got bool: bind the others .* torch.jit.script"),
    (nn.BCELoss(weight=torch.rand(4)), (X.sigmoid(), X.sigmoid()), "sizes are tensors while a model is traced, .* torch.jit.script"),
    (lambda d: d["x"], ({"x": X, "n": 2},), "got int: bind the others"),
    (lambda x, more: x, (X, []), "got an empty list: bind the others"),
    (Masked(), {"input_ids": X, "scale": 2.5}, "got float: bind the others"),
    (nn.Linear(4, 3).half(), (X,), "must have the same dtype .*: use model.float"),
])
def test_what_tracing_refuses_comes_with_what_else_works(model, given, says, out):
    with pytest.raises(rushlight.RushlightError, match=says) as e:
        rushlight.export(model, given, out)
    assert e.value.code == "unsupported"


class Speech(nn.Module):
    """A model with a method that torch.jit.trace would script, although PyTorch cannot script it."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x):
        return self.lstm(x.unsqueeze(0))[0]

    @torch.jit.export
    def infer(self, x: torch.Tensor):
        return self.lstm(x)[0]


def test_a_trace_leaves_out_exported_methods(out):
    model = nn.Sequential(Speech())
    with pytest.raises(RuntimeError, match="forward__0"):  # of PyTorch itself
        torch.jit.trace(model, X, check_trace=False)
    rushlight.export(model, X, out)
    assert_close(rushlight.load(out)(X), model(X))


def test_a_trace_has_no_hooks_of_gradients(out):
    model = nn.Sequential(nn.Linear(4, 3))
    model[0].register_full_backward_hook(lambda *args: None)
    with pytest.raises(ValueError, match="backward hooks"):  # of PyTorch itself
        torch.jit.trace(model, X, check_trace=False)
    rushlight.export(model, X, out)
    assert_close(rushlight.load(out)(X), model(X))
    assert len(model[0]._backward_hooks) == 1


class TwoNames(nn.Module):
    """One parameter and one buffer with two names each, as in deepctr's cells."""

    def __init__(self):
        super().__init__()
        self.first, self.steps = nn.Parameter(torch.rand(4)), nn.Parameter(torch.rand(4))
        self.again = self.first
        self.register_buffer("scale", torch.tensor(2.0))
        self.register_buffer("factor", self.scale)

    def forward(self, x):
        self.factor += 1
        return (x * self.first + self.steps - self.again) * self.scale


def test_a_parameter_of_two_names_is_traced_as_one(out):
    model = nn.Sequential(TwoNames())
    with pytest.raises(ValueError, match="parameter sharing"):  # of PyTorch itself
        torch.jit.trace(model, X, check_trace=False)
    report = rushlight.export(model, X, out)
    names = [name for name, _ in model[0].named_parameters(remove_duplicate=False)]
    assert names == ["first", "steps", "again"] and model[0].again is model[0].first and model[0].factor is model[0].scale == 2
    session = rushlight.load(out)
    assert len(report.state) == 1
    for x in (X, X + 1):
        assert_close(session(x), model(x))


class Sparse(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.register_buffer("weight", weight)

    def forward(self, x):
        return self.weight @ x


@pytest.mark.parametrize("model, x, says", [
    (Sparse(torch.eye(2).to_sparse()), X, "'weight' must not be sparse: make it dense"),
    (Sparse(torch.eye(2).to_sparse_csr()), X, "'weight' must not be sparse: make it dense"),
    (lambda x: torch.sparse_coo_tensor(torch.tensor([[0, 1]]), x, (3,)).to_dense(), X[:, 0], "sparse layouts are not supported: use dense tensors .* index_put or index_add"),
    (Sparse(torch.eye(2)), X.to_sparse(), "the input 'x' must not be sparse"),
], ids=["coo", "csr", "made in forward", "input"])
def test_sparse_layouts_are_refused_with_what_works(model, x, says, out):
    with pytest.raises(rushlight.RushlightError, match=says) as e:
        rushlight.export(model, x, out)
    assert e.value.code == "unsupported"


def test_a_comparison_of_sizes_is_a_bool_where_an_operator_takes_one(out):
    """As openai-whisper does."""
    def attention(x, kept):
        causal = kept.dim() == 1 and x.shape[1] > 1
        return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=causal) * (kept == kept.max())

    with pytest.raises(TypeError, match="must be bool"):  # of PyTorch itself
        torch.jit.trace(attention, (torch.rand(1, 5, 4), torch.rand(4)), check_trace=False)
    report = rushlight.export(attention, (torch.rand(1, 5, 4), torch.rand(4)), out, dynamic_shapes={"x": {1: "n"}})
    x, kept = torch.rand(1, 7, 4), torch.rand(4)
    assert_close(rushlight.load(out)(x, kept), attention(x, kept))
    assert f"test_ways_in.py:{attention.__code__.co_firstlineno + 1}: the comparison of sizes keeps the example's result" in str(report)


def test_hooks_of_a_forward_that_a_trace_has_ended_are_gone(out):
    """Hooks like openai-whisper's, which keep keys and values."""
    class Net(Masked):
        def forward(self, x):
            hook = self.linear.register_forward_hook(lambda module, args, y: y + 1)
            y = self.linear(x)[None]
            y = nn.functional.scaled_dot_product_attention(y, y, y, is_causal=x.shape[0] > 1)
            hook.remove()
            return y

    net = Net()
    rushlight.export(net, X, out)
    assert not net.linear._forward_hooks
    assert_close(rushlight.load(out)(X), net(X))


def test_hooks_that_a_model_adds_once_stay(out):
    """transformers 5 adds hooks for output_attentions at the first call, and remembers that it has."""
    class Net(Masked):
        ready = False

        def forward(self, x):
            if not self.ready:
                self.linear.register_forward_hook(lambda module, args, y: y + 1)
                self.ready = True
            return self.linear(x)

    net = Net()
    rushlight.export(net, X, out)
    assert net.ready and net.linear._forward_hooks
    assert_close(rushlight.load(out)(X), net(X))


class Cache:
    """A cache that is not a pytree, like some of transformers' caches."""

    def __init__(self, *layers):
        self.layers = layers

    def to_legacy_cache(self):
        return tuple(self.layers)


def test_a_cache_comes_out_as_a_tuple_of_its_layers(out):
    class Net(Masked):
        def forward(self, x):
            y = self.linear(x)
            return {"y": y, "cache": Cache((x, y), (y, y))}

    net = Net()
    rushlight.export(net, X, out, dynamic_shapes={"x": {0: "n"}})
    x = torch.rand(3, 4)
    came = rushlight.load(out)(x)
    assert_close(came.cache, ((x, came.y), (came.y, came.y)))
    assert_close(came.y, net(x)["y"])
    with pytest.raises(rushlight.RushlightError, match="inputs of a trace must be tensors, .* got Cache"):
        rushlight.export(lambda cache: cache.layers[0], (Cache(X),), out)


def vmapped(function):
    for dims in (None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None):
        function = torch.vmap(function, in_dims=dims)
    return function


def test_masks_of_transformers_keep_sizes_open(out, monkeypatch):
    library = types.ModuleType("transformers.masking_utils")
    library._vmap_for_bhqkv = vmapped
    monkeypatch.setitem(sys.modules, "transformers.masking_utils", library)

    def mask(x):
        def causal(b, h, q, k):
            return q.new_ones((), dtype=torch.bool) & (k <= q)

        batch, length = x.shape
        return library._vmap_for_bhqkv(causal)(torch.arange(batch), torch.arange(1), torch.arange(length), torch.arange(length))

    rushlight.export(mask, torch.rand(2, 5), out, dynamic_shapes={"x": {0: "b", 1: "n"}})
    assert library._vmap_for_bhqkv is vmapped
    assert_close(rushlight.load(out)(torch.rand(3, 7)), mask(torch.rand(3, 7)))


def test_a_method_of_a_module_is_traced(out):
    class Two(Masked):
        def encode(self, x, scale=None):
            return self.linear(x) if scale is None else self.linear(x) * scale

        def forward(self, x):
            raise NotImplementedError

    model = Two()
    for given in (X,), {"x": X, "scale": X + 1}:
        report = rushlight.export(model.encode, given, out, dynamic_shapes={"x": {0: "n"}})
        assert report.weights_bytes and inputs(out) == ["x", "scale"][:len(given)]
        assert_close(rushlight.load(out)(*[X, X + 1][:len(given)]), model.encode(*[X, X + 1][:len(given)]))


@pytest.mark.parametrize("call", [
    lambda x: x.reshape(len(x), 2, 2).sum(1) + torch.zeros(len(x), 2),
    lambda x: {4: x * 2, 5: x * 3}[len(x)],  # a number is required here: the example's
])
def test_the_length_of_a_tensor_is_a_size_in_a_trace(call, out):
    report = rushlight.export(call, torch.rand(5, 4), out)
    for n in (5,) if report.warnings else (5, 3):
        x = torch.rand(n, 4)
        assert_close(rushlight.load(out)(x), call(x))
    assert len.__module__ == "builtins" and type(len) is type(abs)


class Scaled(torch.Tensor):
    """A tensor made of others, without its own memory, like torchao's and quanto's weights."""

    @staticmethod
    def __new__(cls, codes, scale):
        return torch.Tensor._make_wrapper_subclass(cls, codes.shape, dtype=scale.dtype)

    def __init__(self, codes, scale):
        self.codes, self.scale = codes, scale

    def __tensor_flatten__(self):
        return ["codes", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, parts, *_):
        return cls(parts["codes"], parts["scale"])

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function in (torch.ops.aten.detach.default, torch.ops.aten.clone.default, torch.ops.aten.alias.default):
            return cls(args[0].codes, args[0].scale)
        args = [a.codes * a.scale if isinstance(a, cls) else a for a in args]
        return function(*args, **(kwargs or {}))


def test_a_weight_that_is_made_of_others_is_traced_or_refused(out):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(Scaled(torch.randint(-9, 9, (3, 4), dtype=torch.int8), torch.rand(3, 1)), requires_grad=False)

        def forward(self, x):
            return x @ (self.weight * 1).t()

    net = Net()
    try:
        rushlight.export(net, X, out)
    except rushlight.RushlightError as error:
        assert "is made of others" in str(error)
    else:
        assert_close(rushlight.load(out)(X), net(X))


def test_an_argument_without_a_default_is_none(out):
    class Net(Masked):
        def forward(self, x, scale, attention_mask=None):
            return self.linear(x) if scale is None else x

    net = Net()
    for given in (X, None), {"x": X, "scale": None}:
        rushlight.export(net, given, out, dynamic_shapes={"x": {0: "n"}})
        assert inputs(out) == ["x"]
        assert_close(rushlight.load(out)(X[:1]), net(X[:1], None))


def test_other_sizes_are_verified_where_made_up_arguments_are_refused(out):
    """Checks that times rise, with the values of the example."""
    def steps(y, times):
        assert (times.diff() > 0).all()
        return y * times[-1] if y.abs().max() < 1 else y

    given = torch.rand(2, 3), torch.tensor([0.0, 1.0, 2.0])
    assert rushlight.export(steps, given, out, dynamic_shapes={"y": {0: "n"}}).verified_sizes == ["y [3, 3]", "y [4, 3]", "y [1, 3]"]


def test_a_size_is_asked_what_floats_are_in_a_trace(out):
    """Pads to a multiple, as local-attention and Informer do."""
    def padded(x):
        missing = -x.shape[0] % 4 * np.ceil(np.log(x.shape[0])).astype("int")
        return x if (x.shape[0] / 4).is_integer() else nn.functional.pad(x, (0, missing))

    rushlight.export(padded, torch.rand(5), out)
    x = torch.rand(5)
    assert_close(rushlight.load(out)(x), padded(x))
    assert not hasattr(torch.Tensor, "is_integer")


def test_a_size_is_rounded_in_a_trace(out):
    """As piq does."""
    def pooled(x):
        return x[:, :round(x.shape[-1] / 4)] * round(x.shape[0] / 8, 1)

    with pytest.raises(TypeError, match="__round__"):  # of PyTorch itself
        torch.jit.trace(pooled, torch.rand(2, 10), check_trace=False)
    rushlight.export(pooled, torch.rand(2, 10), out, dynamic_shapes={"x": {0: "b", 1: "n"}})
    for x in torch.rand(2, 10), torch.rand(4, 14), torch.rand(3, 23):  # 2.5 and 3.5 are among these and round to the even number
        assert_close(rushlight.load(out)(x), pooled(x))
    assert not hasattr(torch.Tensor, "__round__")


@pytest.mark.parametrize("call", [
    lambda x, w: nn.functional.conv2d(x, w, padding=w.shape[-1] // 2), lambda x, w: nn.functional.conv2d(x, w, stride=w.shape[-1] - 1),
    lambda x, w: nn.functional.avg_pool2d(x, x.shape[-1] // 3), lambda x, w: nn.functional.max_pool2d(x, kernel_size=x.shape[-1] // 3),
    lambda x, w: nn.functional.avg_pool1d(x[0], x.shape[-1] // 3),
])
def test_a_size_is_a_list_where_an_operator_takes_one(call, out):
    """As piq does."""
    x, w = torch.rand(1, 2, 9, 9), torch.rand(2, 2, 3, 3)
    with pytest.raises(RuntimeError, match="single int|one int"):  # of PyTorch itself
        torch.jit.trace(call, (x, w), check_trace=False)
    rushlight.export(call, (x, w), out)
    x = torch.rand(1, 2, 13, 13)
    assert_close(rushlight.load(out)(x, w), call(x, w))


class Listed(nn.Module):
    """Layers that the module does not know."""

    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 3), nn.Linear(3, 2)]
        self.norm = nn.LayerNorm(2)

    def forward(self, x):
        return self.norm(self.layers[1](self.layers[0](x)) + torch.cat([self.layers[1].bias]))


@pytest.mark.parametrize("model", [Listed(), lambda x, linear=nn.Linear(4, 3): linear(x)], ids=["list", "function"])
def test_parameters_of_no_module_are_constants(model, out):
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad"):  # of PyTorch itself
        torch.jit.trace(model, X, check_trace=False)
    report = rushlight.export(model, X, out)
    assert not report.warnings and not report.state
    for x in (X, X + 1):
        assert_close(rushlight.load(out)(x), model(x))


def test_sizes_of_gradients_are_compared_in_a_trace(out):
    def force(x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            energy = (x * 3 + 1) + x * 2
            return torch.autograd.grad(energy, x, torch.full_like(energy, 2))[0]

    rushlight.export(force, X, out)
    assert_close(rushlight.load(out)(X), force(X))


def test_a_fake_tensor_is_refused_by_name(out):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            with torch._subclasses.FakeTensorMode():
                self.left = [torch.ones(3)]

        def forward(self, x):
            return x, self.left[0]

    with pytest.raises(rushlight.RushlightError, match="holds a fake tensor, which has no values.*create the model again"):
        rushlight.export(torch.jit.script(Net()), X, out, verify=False, test_vectors=False)


class Autocast(nn.Module):
    def __init__(self, enabled):
        super().__init__()
        self.linear, self.enabled = nn.Linear(4, 3), enabled

    def forward(self, x):
        with torch.autocast("cpu", enabled=self.enabled):
            return self.linear(x)


def test_autocast_is_refused_at_its_line(out):
    line = Autocast.forward.__code__.co_firstlineno + 1
    with pytest.raises(rushlight.RushlightError, match=f"test_ways_in.py:{line}: cannot export autocast on cpu to torch.bfloat16, because its results"):
        rushlight.export(Autocast(True), X, out)
    assert rushlight.export(Autocast(False), X, out).verified == 1
    assert Autocast(True)(X).dtype == torch.bfloat16  # as before
    with torch.autocast("cpu"), pytest.raises(rushlight.RushlightError, match="^cannot export autocast on cpu to torch.bfloat16, because its results"):
        rushlight.export(nn.Linear(4, 3), X, out)


def test_what_the_model_raises_stays_as_it_is(out):
    class Raises(nn.Module):
        def forward(self, x):
            raise RuntimeError("of the model's own")

    with pytest.raises(RuntimeError, match="^of the model's own$"):
        rushlight.export(Raises(), X, out)


def test_a_trace_with_two_inputs_of_one_name(out):
    """A signature like those that torch.jit.trace makes for forward(*args)."""
    graph = torch._C.parse_ir("""graph(%x.1 : Tensor, %x.2 : Tensor, %x_1 : Tensor):
      %one : int = prim::Constant[value=1]()
      %two : int = prim::Constant[value=2]()
      %y : Tensor = aten::sub(%x.1, %x.2, %two)
      %z : Tensor = aten::add(%y, %x_1, %one)
      return (%z)""")
    function = torch._C._create_function_from_graph("forward", graph)
    assert [a.name for a in function.schema.arguments] == ["x", "x", "x_1"]
    rushlight.export(function, (X, X + 1, X + 2), out, dynamic_shapes=({0: "n"}, {0: "n"}, {0: "n"}))
    session = rushlight.load(out)
    assert session.inputs() == ["x", "x_2", "x_1"]
    assert_close(session.run({"x": X, "x_2": X + 1, "x_1": X + 2}), {"output": function(X, X + 1, X + 2)})
    with pytest.raises(ValueError, match="the names of inputs must differ, got 'x' twice"):
        rushlight.export(function, (X, X + 1, X + 2), out, input_names=["x", "x"])
