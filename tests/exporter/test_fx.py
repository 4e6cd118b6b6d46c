"""Exports the programs of torch.fx's documentation, and compares each with eager mode."""

import collections
import copy
import importlib
import math
import operator
import sys
import typing

import pytest
import rushlight
import torch
import torch.fx as fx
import torch.nn.functional as F
from recorded_programs import keep, session
from torch import nn
from torch.fx import symbolic_trace
from torch.utils import _pytree as pytree


class Primer(nn.Module):
    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x):
        return torch.topk(torch.sum(self.linear(x + self.linear.weight).relu(), dim=-1), 3)


class Clamped(nn.Module):
    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x):
        return self.linear(x + self.param).clamp(min=0.0, max=1.0)


class Adds(nn.Module):
    def forward(self, x, y):
        return torch.add(x, y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, x):
        return torch.sigmoid(self.b(F.relu(self.a(x))))


@pytest.mark.feature("FX", "the module of the torch.fx primer")
def test_primer(out):
    report = keep("fx_primer", symbolic_trace(Primer()), (torch.randn(5, 4),))
    assert report.route == "FX graph, scripted" and "route     FX graph, scripted" in str(report)


@pytest.mark.feature("FX", "keyword arguments: clamp(min=, max=)")
def test_clamp_with_keyword_arguments():
    net = Clamped()
    keep("fx_clamp", symbolic_trace(net), (torch.randn(3, 4) * 3,), eager=net)


@pytest.mark.feature("FX", "add replaced by mul in the graph")
def test_add_is_replaced_by_mul():
    graph = fx.Tracer().trace(Adds())
    for node in graph.nodes:
        if node.op == "call_function" and node.target == torch.add:
            node.target = torch.mul
    graph.lint()
    report = keep("fx_add_to_mul", fx.GraphModule(Adds(), graph), (torch.randn(3), torch.randn(2, 3)), eager=torch.mul)
    assert "aten::mul.Tensor" in report.ops and not any("add" in op for op in report.ops)


@pytest.mark.feature("FX", "relu inserted behind a node")
def test_relu_is_inserted_behind_a_node():
    traced = symbolic_trace(Adds())
    node = next(n for n in traced.graph.nodes if n.target == torch.add)
    with traced.graph.inserting_after(node):
        new = traced.graph.call_function(torch.relu, args=(node,))
    node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
    traced.graph.lint()
    traced.recompile()
    keep("fx_insert_relu", traced, (torch.randn(7), torch.randn(7)), eager=lambda x, y: torch.relu(x + y))


@pytest.mark.feature("FX", "replace_pattern")
def test_replace_pattern():
    class Net(nn.Module):
        def forward(self, x, w1, w2):
            m1 = torch.cat([w1, w2]).sum()
            m2 = torch.cat([w1, w2]).sum()
            return x + torch.max(m1) + torch.max(m2)

    traced = symbolic_trace(Net())
    found = fx.replace_pattern(traced, lambda w1, w2: torch.cat([w1, w2]).sum(), lambda w1, w2: torch.stack([w1, w2]))
    assert len(found) == 2
    args = (torch.randn(2, 3), torch.randn(4), torch.randn(4))
    report = keep("fx_replace_pattern", traced, args)
    assert "aten::stack" in report.ops and "aten::cat" not in report.ops
    traced(*args)


def decompose_relu(model):
    graph, new, env = fx.Tracer().trace(model), fx.Graph(), {}
    tracer = fx.proxy.GraphAppendingTracer(new)
    for node in graph.nodes:
        if node.op == "call_function" and node.target == F.relu:
            x = fx.Proxy(env[node.args[0].name], tracer)
            env[node.name] = ((x > 0) * x).node
        else:
            env[node.name] = new.node_copy(node, lambda x: env[x.name])
    return fx.GraphModule(model, new)


@pytest.mark.feature("FX", "relu decomposed with Proxy")
def test_relu_is_decomposed_with_proxies():
    net = Block()
    report = keep("fx_decompose", decompose_relu(net), (torch.randn(2, 4),), eager=net)
    assert "aten::gt.Scalar" in report.ops and "aten::relu" not in report.ops


@pytest.mark.feature("FX", "a Transformer")
def test_transformer():
    class NegSigmSwap(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(torch.neg if target == torch.sigmoid else target, args, kwargs)

        def call_method(self, target, args, kwargs):
            return super().call_method("sigmoid" if target == "neg" else target, args, kwargs)

    def f(x):
        return torch.sigmoid(x).neg()

    keep("fx_transformer", NegSigmSwap(symbolic_trace(f)).transform(), (torch.randn(9),), eager=lambda x: (-x).sigmoid())


@pytest.mark.feature("FX", "an in-place edit, lint and recompile")
def test_in_place_edit_with_lint_and_recompile():
    traced = symbolic_trace(Block())
    before = keep("fx_edit", traced, (torch.randn(2, 4),))
    for node in list(traced.graph.nodes):
        if node.target == torch.sigmoid:
            with traced.graph.inserting_before(node):
                double = traced.graph.call_function(operator.mul, (node.args[0], 2))
            node.update_arg(0, double)
            node.target = torch.tanh
    traced.graph.lint()
    traced.recompile()
    report = keep("fx_edit", traced, (torch.randn(2, 4),))
    assert "aten::tanh" in report.ops and "aten::tanh" not in before.ops


@pytest.mark.feature("FX", "a graph built by hand, from a description")
def test_graph_built_by_hand_from_a_description():
    description = [("linear", 4, 8), "relu", ("linear", 8, 3), ("add", 0.5), "tanh"]
    graph, root = fx.Graph(), {}
    at = graph.placeholder("x")
    for i, step in enumerate(description):
        if isinstance(step, str):
            at = graph.call_function(getattr(torch, step), (at,))
        elif step[0] == "linear":
            root[f"w{i}"] = nn.Linear(*step[1:])
            at = graph.call_module(f"w{i}", (at,))
        else:
            at = graph.call_function(getattr(operator, step[0]), (at, step[1]))
    graph.output(at)
    graph.lint()
    module = fx.GraphModule(root, graph)
    w0, w2 = root["w0"], root["w2"]
    keep("fx_by_hand", module, (torch.randn(2, 4),), (torch.randn(5, 4),),
         eager=lambda x: torch.tanh(w2(torch.relu(w0(x))) + 0.5))


@pytest.mark.feature("FX", "a module saved by to_folder and imported again")
def test_to_folder_and_import(tmp_path, monkeypatch):
    net = Block()
    symbolic_trace(net).to_folder(tmp_path / "saved_net", "SavedNet")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        again = importlib.import_module("saved_net").SavedNet()
        report = keep("fx_to_folder", again, (torch.randn(2, 4),), eager=net)
        assert report.route == "traced"
        keep("fx_to_folder_scripted", torch.jit.script(again), (torch.randn(2, 4),), eager=net)
    finally:
        sys.modules.pop("saved_net", None)


class Pasted(Primer):
    def forward(self, x):  # what symbolic_trace(Clamped()).code says
        param = self.param
        add = x + param;  x = param = None
        linear = self.linear(add);  add = None
        clamp = linear.clamp(min=0.0, max=1.0);  linear = None
        return clamp


@pytest.mark.feature("FX", "the generated forward pasted into a subclass")
def test_generated_forward_pasted_into_a_subclass():
    net = Pasted()
    twin = Clamped()
    twin.load_state_dict(net.state_dict())
    generated = symbolic_trace(twin).code
    for line in ("param = self.param", "add = x + param", "linear = self.linear(add)", "clamp = linear.clamp(min = 0.0, max = 1.0)"):
        assert line in generated
    args = (torch.randn(3, 4),)
    keep("fx_pasted", net, args, eager=twin)
    keep("fx_pasted_traced", symbolic_trace(net), args, eager=twin)


def randomised(net):
    """Gives batch norms statistics that change the answer, but do not make numbers explode."""
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.uniform_(-0.1, 0.1)
            m.running_var.uniform_(0.8, 1.5)
            nn.init.uniform_(m.weight, 0.7, 1.2)
            nn.init.uniform_(m.bias, -0.1, 0.1)
    return net


def fuse_conv_bn(model):
    model = copy.deepcopy(model)
    traced = symbolic_trace(model)
    modules = dict(traced.named_modules())
    for node in list(traced.graph.nodes):
        if node.op != "call_module" or not isinstance(modules[node.target], nn.BatchNorm2d):
            continue
        before = node.args[0]
        if before.op != "call_module" or not isinstance(modules[before.target], nn.Conv2d) or len(before.users) > 1:
            continue
        fused = nn.utils.fusion.fuse_conv_bn_eval(modules[before.target], modules[node.target])
        parent, _, name = before.target.rpartition(".")
        setattr(traced.get_submodule(parent), name, fused)
        node.replace_all_uses_with(before)
        traced.graph.erase_node(node)
    traced.graph.lint()
    traced.recompile()
    return traced


@pytest.mark.feature("FX", "convolution and batch norm fused on resnet18, batch of 5")
def test_conv_and_batch_norm_fused_on_resnet18():
    torchvision = pytest.importorskip("torchvision")
    net = randomised(torchvision.models.resnet18()).eval()
    fused = fuse_conv_bn(net)
    assert not any(isinstance(m, nn.BatchNorm2d) for m in [fused.get_submodule(n.target) for n in fused.graph.nodes if n.op == "call_module"])
    report = keep("fx_resnet18_fused", fused, (torch.randn(5, 3, 64, 64),), eager=net, rtol=1e-3, atol=1e-4)
    assert report.ops["rush::conv"] == 20 and "aten::batch_norm" not in report.ops


def quantized_by_fx():
    from torch.ao.quantization import get_default_qconfig_mapping, quantize_fx

    net, x = Block().eval(), torch.randn(2, 4)
    prepared = quantize_fx.prepare_fx(net, get_default_qconfig_mapping(torch.backends.quantized.engine), (x,))
    prepared(x)
    return quantize_fx.convert_fx(prepared), (x,)


def quantized_on_the_fly():
    return torch.ao.quantization.quantize_dynamic(Block().eval(), {nn.Linear}), (torch.randn(2, 4),)


def quantized_lstm():
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.LSTM(4, 5)), {nn.LSTM}), (torch.randn(3, 2, 4),)


@pytest.fixture(name="qnnpack")
def fixture_qnnpack():
    yield from of_engine("qnnpack")


@pytest.fixture(name="onednn")
def fixture_onednn():
    yield from of_engine("onednn")


def of_engine(engine):
    before, torch.backends.quantized.engine = torch.backends.quantized.engine, engine
    yield
    torch.backends.quantized.engine = before


@pytest.mark.parametrize("made", [quantized_by_fx, quantized_on_the_fly, quantized_lstm])
@pytest.mark.parametrize("way", ["as_it_is", "trace", "script"])
@pytest.mark.feature("FX", "quantized models: FX, dynamic, LSTM")
def test_quantized_models(qnnpack, made, way):
    net, args = made()
    model = {"as_it_is": lambda: net, "trace": lambda: torch.jit.trace(net, args), "script": lambda: torch.jit.script(net)}[way]()
    report = keep(f"{made.__name__}_{way}", model, args, eager=net)
    assert {"rush::quantized_conv", "rush::linear_dynamic", "rush::lstm_dynamic"} & set(report.ops)


@pytest.mark.feature("FX", "a quantized linear layer fused with tanh", rushlight="refuses")
def test_a_quantized_operator_that_is_missing_is_named(onednn, out):
    net = nn.Sequential(torch.ao.nn.quantized.Quantize(0.1, 100, torch.quint8), torch.ao.nn.intrinsic.quantized.LinearTanh(3, 4), torch.ao.nn.quantized.DeQuantize())
    with pytest.raises(rushlight.RushlightError, match="(?s)quantized::linear_tanh, 1 time, at .*do not quantize these layers") as e:
        rushlight.export(torch.jit.script(net), (torch.randn(2, 3),), out)
    assert e.value.code == "unsupported"


def test_a_model_prepared_for_quantization_is_named(out):
    from torch.ao.quantization import get_default_qconfig_mapping, quantize_fx

    net, x = Block().eval(), torch.randn(2, 4)
    prepared = quantize_fx.prepare_fx(net, get_default_qconfig_mapping("x86"), (x,))
    with pytest.warns(UserWarning, match="prepared for quantization and not converted"):
        report = rushlight.export(prepared, (x,), out)
    assert any("prepared for quantization" in w for w in report.warnings)
    torch.testing.assert_close(rushlight.load(out)(x), net(x))


def mixed(x):
    return {"a": x, "b": [x, (x, x + 1)]}


@pytest.mark.feature("FX", "a result of several types in one dict")
def test_a_result_of_several_types(out):
    class Net(nn.Module):
        def forward(self, x):
            return mixed(x)

    x = torch.randn(2)
    for model in (torch.fx.symbolic_trace(mixed), torch.export.export(Net(), (x,))):
        assert rushlight.export(model, (x,), out).verified
        y = rushlight.load(out)(x)
        assert torch.equal(y.b[1][1], x + 1) and torch.equal(y.a, x)


class Plain:
    pass


@pytest.mark.parametrize("result", [lambda x: {"a": x, "b": Plain()}, lambda x: {"a": x, 1: [x]}])
def test_a_result_that_tracing_has_no_type_for_is_refused(out, result):
    with pytest.raises(rushlight.RushlightError, match=r"no type for the model's result \(.+\): return tensors, .* lists and dicts") as e:
        rushlight.export(result, (torch.randn(2),), out)
    assert e.value.code == "unsupported"


Pair = collections.namedtuple("Pair", "left right")
RESULTS = {
    "a dict of several types": lambda h, x: {"h": h, "more": [h + 1, (x, None)], "word": "it's", "number": 3, "inf": -math.inf, "yes": True},
    "a tuple with None": lambda h, x: (h, None, [x, x]),
    "a list of several types": lambda h, x: [h, {"x": x}, [x, [h]]],
    "an ordered dict, keys that are numbers": lambda h, x: collections.OrderedDict([(2, h), (1, [x])]),
    "a dict in a list": lambda h, x: [{"h": h}],
    "no tensor": lambda h, x: [1, {"a": None}],
    "a named tuple, what is empty": lambda h, x: (Pair(h, None), [], {}, h),
    "sizes, which are tensors in a trace": lambda h, x: (h, h.shape[0], {"half": h.size(0) / 2, "more": [h.shape, h.shape[0] > 3]}),
    "one size": lambda h, x: h.shape[0] * 2,
    "a defaultdict": lambda h, x: collections.defaultdict(list, {"h": [h, x]}),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_traced_result_of_several_types(out, name):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 3)
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x, other):
            self.count += 1
            return RESULTS[name](self.linear(x), other)

    net = Net()
    x, y = torch.randn(2, 4), torch.randn(2)
    for given in ((x, y), {"other": y, "x": x}):  # by place, by name
        report = rushlight.export(net, given, out, dynamic_shapes={"x": {0: "n"}})
        assert report.route == "traced" and report.verified_sizes and report.state == ["count"]
        other = torch.randn(5, 4), torch.randn(2)
        with torch.no_grad():
            wanted, came = RESULTS[name](net.linear(other[0]), other[1]), rushlight.load(out)(*other)
        wanted, came = pytree.tree_flatten(wanted)[0], pytree.tree_flatten(came)[0]
        assert [type(v) for v in came] == [type(v) for v in wanted]
        torch.testing.assert_close([v for v in came if isinstance(v, torch.Tensor)], [v for v in wanted if isinstance(v, torch.Tensor)])
        assert [v for v in came if not isinstance(v, torch.Tensor)] == [v for v in wanted if not isinstance(v, torch.Tensor)]
    assert net.count == 0 and not [name for name in vars(net) if "rushlight" in name]  # and the model is as it was


def test_a_traced_function_returns_several_types(out):
    x = torch.randn(2)
    assert rushlight.export(mixed, (x,), out).route == "traced"
    y = rushlight.load(out)(x)
    assert torch.equal(y["b"][1][1], x + 1) and torch.equal(y["a"], x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.feature("FX", "half precision")
def test_half_precision_keeps_its_dtype(out, dtype):
    net, x = Block().to(dtype).eval(), torch.randn(2, 4).to(dtype)
    report = rushlight.export(net, (x,), out)
    assert report.verified and report.weights_bytes <= 64 * (1 + len(list(net.parameters())) + len(list(net.buffers())))
    y = rushlight.load(out)(x)
    assert y.dtype == dtype
    torch.testing.assert_close(y, net(x))


@pytest.mark.feature("FX", "shape propagation")
def test_shape_propagation():
    from torch.fx.passes.shape_prop import ShapeProp

    net = Block()
    traced = symbolic_trace(net)
    ShapeProp(traced).propagate(torch.randn(2, 4))
    assert all("tensor_meta" in n.meta for n in traced.graph.nodes)
    keep("fx_shape_prop", traced, (torch.randn(2, 4),), (torch.randn(6, 4),), eager=net)  # it fixes no size


def flagged(x, flag):
    if flag:
        return x * 2
    return x - 1


@pytest.mark.feature("FX", "concrete_args")
def test_concrete_args():
    for flag in (True, False):
        traced = symbolic_trace(flagged, concrete_args={"flag": flag})
        x = torch.randn(3)
        report = keep(f"fx_concrete_{flag}", traced, (x, flag), eager=flagged)
        assert report.route == "FX graph, scripted"
        assert report.inputs[1].endswith("bool")


@pytest.mark.feature("FX", "concrete_args of a tree")
def test_concrete_args_of_a_tree():
    def f(d):
        return d["a"] + d["b"][0]

    d = {"a": torch.randn(2), "b": [torch.randn(2)]}
    traced = symbolic_trace(f, concrete_args={"d": {"a": fx.PH, "b": [fx.PH]}})
    report = keep("fx_concrete_tree", lambda a, b: traced({"a": a, "b": [b]}), (d["a"], d["b"][0]))
    assert report.verified


class Annotated(nn.Module):
    def forward(self, x: torch.Tensor, ys: typing.List[torch.Tensor], n: int):
        return ys[0] * n + x


@pytest.mark.feature("FX", "annotated placeholders")
def test_annotated_placeholders():
    traced = symbolic_trace(Annotated())
    args = (torch.randn(3), [torch.randn(3), torch.randn(3)], 3)
    report = keep("fx_annotated", traced, args, (torch.randn(2), [torch.randn(2)], -1))
    assert report.route == "FX graph, scripted"


@pytest.mark.feature("FX", "placeholders typed by the example inputs")
def test_placeholders_are_typed_by_the_examples():
    def f(x, n, s, d):
        return x.view(n, -1) * s + d["k"]

    report = keep("fx_typed", symbolic_trace(f), (torch.randn(4, 3), 6, 0.5, {"k": torch.randn(2)}))
    assert report.route == "FX graph, scripted"
    assert [i.split(": ")[1] for i in report.inputs[1:]] == ["int", "float", "Dict(str, Tensor)"]


class Static(nn.Module):
    def __init__(self, activate):
        super().__init__()
        self.activate, self.linear = activate, nn.Linear(3, 3)

    def forward(self, x):
        x = self.linear(x)
        return torch.relu(x) if self.activate else x


@pytest.mark.feature("FX", "static control flow by attribute")
def test_static_control_flow_by_attribute():
    for activate in (True, False):
        net = Static(activate)
        report = keep(f"fx_static_{activate}", symbolic_trace(net), (torch.randn(2, 3),), eager=net)
        assert list(report.ops) == ["rush::linear"]


def dynamic(x):
    if x.sum() > 0:
        return torch.relu(x)
    return torch.neg(x)


@pytest.mark.feature("FX", "dynamic control flow, scripted or wrapped")
def test_dynamic_control_flow():
    with pytest.raises(fx.proxy.TraceError, match="control flow"):
        symbolic_trace(dynamic)
    up, down = (torch.ones(3),), (-torch.ones(3),)
    keep("fx_dynamic_scripted", torch.jit.script(dynamic), up, down, eager=dynamic)
    traced = symbolic_trace(calls_wrapped)
    report = keep("fx_dynamic_wrapped", traced, up, down, eager=calls_wrapped)
    assert "prim::If" not in report.ops and report.route == "FX graph, scripted"


@fx.wrap
def wrapped_choice(x):
    if x.sum() > 0:
        return x * 2
    return x * 3


def calls_wrapped(x):
    return wrapped_choice(x) + 1


fx.wrap("len")
fx.wrap("sqrt")
from math import sqrt  # noqa: E402


def normalise(x, items: typing.List[int]):
    return x / sqrt(len(items))


@pytest.mark.feature("FX", "torch.fx.wrap of len and math.sqrt")
def test_wrapped_len_and_sqrt():
    traced = symbolic_trace(normalise)
    assert {n.target for n in traced.graph.nodes if n.op == "call_function"} >= {len, math.sqrt}
    keep("fx_wrapped", traced, (torch.randn(3), [1, 2, 3]), (torch.randn(3), [7]), eager=normalise)


class Mine(nn.Module):
    def forward(self, x):
        return x + (x.relu() if x.dim() > 1 else x)


@pytest.mark.feature("FX", "a custom Tracer")
def test_custom_tracer():
    class Renaming(fx.Tracer):
        def call_module(self, m, forward, args, kwargs):
            return super().call_module(m, forward, args, kwargs)

        def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
            if target == torch.sigmoid:
                target = torch.tanh
            return super().create_node(kind, target, args, kwargs, name, type_expr)

    net = Block()
    traced = fx.GraphModule(net, Renaming().trace(net))
    keep("fx_custom_tracer", traced, (torch.randn(2, 4),), eager=lambda x: torch.tanh(net.b(F.relu(net.a(x)))))


@pytest.mark.feature("FX", "leaf modules")
def test_leaf_modules():
    class Leafy(fx.Tracer):
        def is_leaf_module(self, m, name):
            return isinstance(m, Mine) or super().is_leaf_module(m, name)

    net = nn.Sequential(nn.Linear(3, 3), Mine())
    traced = fx.GraphModule(net, Leafy().trace(net))
    assert [n.target for n in traced.graph.nodes if n.op == "call_module"] == ["0", "1"]
    keep("fx_leaf", traced, (torch.randn(3),), (torch.randn(2, 3),), eager=net)


@pytest.mark.feature("FX", "a leaf that cannot be scripted is traced")
def test_a_leaf_that_cannot_be_scripted_is_traced(out):
    class Odd(nn.Module):
        def forward(self, x, **kwargs):
            return x * (yielding(2))

    def yielding(n):
        return sum(i for i in range(n + 1))

    class Leafy(fx.Tracer):
        def is_leaf_module(self, m, name):
            return isinstance(m, Odd) or super().is_leaf_module(m, name)

    net = nn.Sequential(nn.Linear(3, 3), Odd())
    traced = fx.GraphModule(net, Leafy().trace(net))
    report = keep("fx_traced", traced, (torch.randn(2, 3),), eager=net)
    assert report.route.startswith("FX graph, traced because torch.jit.script refused it")
    assert report.route in str(report)
    with pytest.raises(ValueError, match="example_inputs must be given to trace this FX graph"):
        rushlight.export(traced, None, out)


@pytest.mark.feature("FX", "constants made by ones")
def test_constants_made_by_ones():
    def f(x):
        return torch.ones(3) + x

    keep("fx_ones", symbolic_trace(f), (torch.randn(2, 3),))


@pytest.mark.feature("FX", "a sparse constructor", rushlight="refuses")
def test_a_sparse_constructor_is_refused_by_name(out):
    graph = fx.Graph()
    at, x = graph.placeholder("at"), graph.placeholder("x")
    sparse = graph.call_function(torch.sparse_coo_tensor, (at, x, [2]))
    graph.output(graph.call_method("to_dense", (sparse,)))
    with pytest.raises(rushlight.RushlightError, match="sparse_coo_tensor"):
        rushlight.export(fx.GraphModule({}, graph), (torch.tensor([[0, 1]]), torch.randn(2)), out)


def seeded(f):
    def run(*args):
        torch.manual_seed(1)  # of test vectors
        return f(*args)
    return run


class Dropouts(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x) + 1


class Functional(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5, training=self.training) + 1


@pytest.mark.feature("FX", "nn.Dropout follows eval()")
def test_the_module_dropout_follows_eval():
    traced = symbolic_trace(Dropouts())  # in training mode
    traced.eval()
    report = keep("fx_dropout", traced, (torch.randn(2, 3),), eager=lambda x: x + 1)
    assert "aten::dropout" not in report.ops
    assert not traced.training


@pytest.mark.feature("FX", "functional dropout bakes `training`")
def test_the_functional_dropout_bakes_training():
    fixed = symbolic_trace(Functional().eval())
    report = keep("fx_functional_dropout", fixed, (torch.randn(2, 3),), eager=lambda x: x + 1)
    assert "aten::dropout" not in report.ops
    baked = symbolic_trace(Functional())
    baked.eval()
    report = keep("fx_baked_dropout", baked, (torch.ones(200),), eager=seeded(baked))
    assert "aten::dropout" in report.ops


@fx.wrap
def torch_randn(x, shape):
    return torch.randn(shape)


@fx.wrap
def draws(x):
    return [torch.rand(3), torch.randint(0, 9, (4,)), torch.randperm(6), torch.bernoulli(torch.full((8,), 0.3)),
            F.dropout(x, 0.5, training=True)]


def adds_noise(x):
    return x + torch_randn(x, 5)


def all_draws(x):
    return draws(x)


@pytest.mark.parametrize("f", [adds_noise, all_draws])
@pytest.mark.feature("FX", "torch.fx.wrap of randn: fresh at each run, reproducible by seed")
def test_wrapped_randn_is_fresh_at_each_run_and_reproducible_by_seed(f):
    traced, x = symbolic_trace(f), torch.randn(2, 5)
    name = f"fx_{f.__name__}"
    keep(name, traced, (x,), eager=seeded(traced))
    run = session(name)
    torch.manual_seed(77)
    run.manual_seed(77)
    first, second = run(x), run(x)
    for got in (first, second):
        torch.testing.assert_close(got, traced(x), rtol=1e-6, atol=1e-6)
    values = lambda y: torch.cat([v.double().flatten() for v in (y if isinstance(y, list) else [y])])  # noqa: E731
    assert not torch.equal(values(first), values(second))
    assert not torch.equal(values(session(name)(x)), values(session(name)(x)))  # other sessions, other seeds


def test_lines_are_the_users(out):
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    net = Block()
    rushlight.export(fx.GraphModule(net, tracer.trace(net)), (torch.randn(2, 4),), out)
    text = rushlight.describe(out)
    first = Block.forward.__code__.co_firstlineno
    assert f"test_fx.py:{first + 1}" in text, text
    plain = symbolic_trace(net)
    rushlight.export(plain, (torch.randn(2, 4),), out)
    assert "eval_with_key" in rushlight.describe(out) or "test_fx.py" not in rushlight.describe(out)


def test_the_module_is_not_changed(out):
    traced = symbolic_trace(flagged, concrete_args={"flag": True})
    code, types = traced.code, [n.type for n in traced.graph.nodes]
    rushlight.export(traced, (torch.randn(3), True), out)
    assert traced.code == code and [n.type for n in traced.graph.nodes] == types


def test_kept_files_replay():
    keep("fx_replayed", symbolic_trace(Clamped()), (torch.randn(3, 4),))
    assert len(session("fx_replayed").verify()) == 2
