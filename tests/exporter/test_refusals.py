"""Each message of PyTorch that the package reacts to: PyTorch raises it, and export() reacts as the table says."""

import warnings

import pytest
import rushlight
import torch
import torch.nn.functional as F
from rushlight.base.torch_messages import REFUSALS
from torch import nn
from torch.testing import assert_close

X = torch.rand(2, 4)
IMAGE, WEIGHT = torch.rand(1, 2, 9, 9), torch.rand(2, 2, 3, 3)


class Optional(nn.Module):
    def forward(self, x, y=None):
        return x + 1


def with_a_size(x):
    return x.reshape(int(x.shape[0] / 2), -1)


# (words, model, inputs, part of export()'s own message; None if it exports the model)
CASES = [
    ("We don't have an op for", lambda x: x.clamp(False, True), X, None),
    ("to be a single integer value or a list of", lambda x, w: F.conv2d(x, w, padding=w.shape[-1] // 2), (IMAGE, WEIGHT), None),
    ("should contain one int (got 0)", lambda x: F.avg_pool1d(x, x.shape[-1] // 3), IMAGE[0], None),
    ("must either be a single int", lambda x: F.avg_pool2d(x, x.shape[-1] // 3), IMAGE, None),
    ("must be an int, list of ints or tuple of ints", lambda x: F.max_pool1d(x, x.shape[-1] // 3), IMAGE[0], None),
    ("must be bool, not Tensor",
     lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=x.shape[1] > 1), torch.rand(1, 5, 4), None),
    ("Cannot insert a Tensor that requires grad as a constant", lambda x, layer=nn.Linear(4, 3): layer(x), X, None),
    ("Cannot access data pointer of Tensor that doesn't have storage",
     lambda x: torch.func.grad(lambda y: F.linear(y, y).sin().sum())(x), X, None),
    ("Unsupported value kind: Tensor", lambda x: torch.func.vmap(torch.func.jacrev(torch.tanh))(x), X, None),
    ("dynamo-optimized function", lambda x: torch.compile(torch.relu)(x), X, None),
    ("could not find kernel for HigherOrderOperator",
     lambda x: torch.ops.higher_order.cond(x.sum() > 0, torch.relu, torch.tanh, [x]), X, "calls torch.cond, another higher-order operator"),
    ("cannot be traced. Only Tensors and", lambda x, mode: x, (X, "a"), "got str: bind the others"),
    ("can be inputs to traced functions. Got", Optional(), {"x": X, "y": 2.5}, "got float: bind the others"),
    ("type_ INTERNAL ASSERT", Optional(), {"x": X, "y": []}, "got an empty list: bind the others"),
    ("Tracer cannot infer type of", lambda x: {x}, X, "no type for the model's result"),
    ("can be output from traced functions", lambda x: (x, x.dtype), X, "no type for the model's result"),
    ("of traced region cannot be understood by the tracer", lambda x: {"a": {"b": x}}, X, None),
    ("Unable to cast Python instance of type <class 'str'>", lambda x: {"\ud800": x}, X, "the key of a dict in the model's result must"),
    ("expected int at position", nn.BCELoss(weight=torch.rand(4)), (X.sigmoid(), X.sigmoid()), "sizes are tensors while a model is traced"),
    ("mat1 and mat2 must have the same dtype", nn.Linear(4, 3).half(), X, "must have the same dtype"),
    ("to have the same dtype", lambda x: x.double() @ x.T, X, "must have the same dtype"),
    ("mixed dtype (CPU)", nn.LayerNorm(4).double(), X, "must have the same dtype"),
    ("expected scalar type", lambda x: torch.bmm(x.double(), x), torch.rand(1, 2, 2), "must have the same dtype"),
    ("should be the same", nn.Conv2d(2, 2, 3).half(), IMAGE, "must have the same dtype"),
]


def test_every_row_of_the_table_has_a_case():
    assert {row.words for row in REFUSALS} == {words for words, *_ in CASES} | {"to a Python integer"}


@pytest.mark.parametrize("words, model, given, says", CASES, ids=[case[0] for case in CASES])
def test_a_message_of_pytorch(words, model, given, says, tmp_path):
    kwargs = {"example_kwarg_inputs": given} if isinstance(given, dict) else {"example_inputs": given}
    with pytest.raises((RuntimeError, TypeError)) as raised:
        torch.jit.trace(model, **kwargs, check_trace=False, strict=False)
    assert words in str(raised.value)
    path = str(tmp_path / "m.rush")
    if says is not None:
        with pytest.raises(rushlight.RushlightError, match=says) as refused:
            rushlight.export(model, given, path)
        assert refused.value.code == "unsupported"
        return
    rushlight.export(model, given, path)
    args = given if isinstance(given, tuple) else (given,)
    got, want = rushlight.load(path)(*args), model(*args)
    assert_close(got._asdict() if isinstance(want, dict) else got, want)


def test_a_warning_of_pytorch_that_a_size_was_fixed_by_int(tmp_path):
    with pytest.warns(torch.jit.TracerWarning, match="to a Python integer"):
        torch.jit.trace(with_a_size, torch.rand(4, 6), check_trace=False)
    with warnings.catch_warnings(), pytest.raises(rushlight.RushlightError, match="int\\(...\\) of a size gives a constant") as refused:
        warnings.simplefilter("ignore")
        rushlight.export(with_a_size, torch.rand(4, 6), str(tmp_path / "m.rush"), dynamic_shapes={"x": {0: "n"}})
    assert refused.value.specialized == "sizes"


def test_specialized_values_are_a_field_of_the_error(tmp_path):
    def chosen(x):
        many = (x > 0.5).sum().item()
        return x[x > 0.5].view(many, 1).sum()

    with warnings.catch_warnings(), pytest.raises(rushlight.RushlightError) as refused:
        warnings.simplefilter("ignore")
        rushlight.export(chosen, torch.rand(3, 5), str(tmp_path / "m.rush"))
    assert refused.value.specialized == "values" and "tracing fixed these values of the example" in str(refused.value)


def test_an_error_that_tracing_did_not_cause_has_no_such_field(tmp_path):
    with pytest.raises(rushlight.RushlightError) as refused:
        rushlight.export(lambda x, mode: x, (X, "a"), str(tmp_path / "m.rush"))
    assert refused.value.specialized is None
