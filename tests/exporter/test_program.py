"""Exports ExportedPrograms and .pt2 files, and compares with the original module."""

import collections

import pytest
import rushlight
import torch
import torch.nn.functional as F
from recorded_programs import FOLDER, keep, session
from torch import nn

FILE = "test_program.py"


def exported(net, args, **options):
    return torch.export.export(net.eval() if isinstance(net, nn.Module) else net, args, **options)


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.fc, self.drop = nn.Linear(8, 4), nn.Dropout()
        with torch.no_grad():
            self.bn.running_mean.uniform_(-1, 1)
            self.bn.running_var.uniform_(0.5, 2)
            self.bn.weight.uniform_(0.5, 2)
            self.bn.bias.uniform_(-1, 1)

    def forward(self, x):
        return self.drop(self.fc(F.relu(self.bn(self.conv(x))).mean([2, 3])))


@pytest.mark.feature("torch.export", "an ExportedProgram, batch norm folded")
def test_a_network_with_batch_norm_folded():
    net = Small()
    x = torch.randn(2, 3, 8, 8)
    report = keep("ep_small", exported(net, (x,)), (x,), eager=net)
    assert report.route == "torch.export" and "route     torch.export" in str(report)
    checks = {"aten::dim", "aten::eq.int", "aten::format", "prim::RaiseException"}
    assert set(report.ops) - checks == {"rush::conv", "aten::mean.dim", "rush::linear"}
    assert not any("batch_norm" in op or "dropout" in op for op in report.ops)
    text = rushlight.describe(str(FOLDER / "ep_small.rush"))
    line = Small.forward.__code__.co_firstlineno + 1
    assert f"{FILE}:{line}" in text


@pytest.mark.feature("torch.export", "after run_decompositions")
def test_after_decompositions():
    net = nn.Sequential(Small(), nn.LayerNorm(4), nn.Softmax(-1))
    x = torch.randn(2, 3, 8, 8)
    keep("ep_decomposed", exported(net, (x,)).run_decompositions(), (x,), eager=net)


@pytest.mark.feature("torch.export", "a .pt2 file")
def test_a_pt2_file(tmp_path):
    net, x = Small(), torch.randn(2, 3, 8, 8)
    torch.export.save(exported(net, (x,)), tmp_path / "net.pt2")
    report = rushlight.export(tmp_path / "net.pt2", None, tmp_path / "net.rush")  # the example is in the file
    assert report.route == "torch.export" and report.verified
    report = keep("ep_pt2", str(tmp_path / "net.pt2"), (x,), eager=net)
    assert report.verified >= 2


@pytest.mark.feature("torch.export", "resnet18")
def test_resnet18():
    torchvision = pytest.importorskip("torchvision")
    net = torchvision.models.resnet18().eval()
    x = torch.randn(1, 3, 64, 64)
    report = keep("ep_resnet18", exported(net, (x,)), (x,), eager=net, rtol=1e-3, atol=1e-3)
    assert report.ops["rush::conv"] == 20 and "aten::batch_norm" not in report.ops


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, x):
        return self.inner(x)


@pytest.mark.feature("torch.export", "a transformer layer with dynamic sizes")
def test_attention_with_dynamic_sizes(monkeypatch):
    monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", False)
    net = Attention().eval()
    x = torch.randn(2, 5, 16)
    batch, length = torch.export.Dim("batch", min=1, max=64), torch.export.Dim("length", min=2, max=64)
    with torch.no_grad():
        program = exported(net, (x,), dynamic_shapes={"x": {0: batch, 1: length}})
    report = keep("ep_attention", program, (x,), (torch.randn(3, 9, 16),), eager=net, rtol=1e-4, atol=1e-5)
    assert "?" in report.inputs[0], report.inputs


class Shapes(nn.Module):
    def forward(self, x, y):
        n, m = x.shape
        z = x.reshape(n * m // 2, 2)[: n + 1]
        return z.sum(0) / n, torch.arange(m * 2 - 1), torch.cat([x, y]).view(-1, m), x.new_zeros(max(n, 3), m % 4)


@pytest.mark.feature("torch.export", "symbolic sizes")
def test_sizes_are_computed():
    n, m = torch.export.Dim("n", min=4, max=50), torch.export.Dim("m", max=80)
    x = torch.randn(5, 6)
    y = torch.randn(5, 6)
    program = exported(Shapes(), (x, y), dynamic_shapes={"x": {0: n, 1: 2 * m}, "y": {0: n, 1: 2 * m}})
    keep("ep_sizes", program, (x, y), (torch.randn(7, 4), torch.randn(7, 4)), eager=Shapes())


@pytest.mark.feature("torch.export", "sizes outside the program's constraints", pytorch="refuses", rushlight="refuses")
def test_sizes_outside_of_the_program_are_refused(out):
    n = torch.export.Dim("n", min=3, max=8)
    program = exported(Shapes2(), (torch.randn(4, 6), torch.randn(4)), dynamic_shapes={"x": {0: n}, "y": {0: n}})
    rushlight.export(program, None, out)
    run = rushlight.load(out)
    assert run(torch.ones(8, 6), torch.ones(8)).shape == (8, 6)
    for x, y, message in [((9, 6), (9,), 'size 0 of input "x" must be at most 8, got 9'),
                          ((2, 6), (2,), "must be at least 3"), ((4, 5), (4,), 'size 1 of input "x" must be 6, as at export, got 5'),
                          ((4, 6), (5,), 'size 0 of input "y" is 5 and size 0 of input "x" is 4: they must be equal'),
                          ((4, 6, 1), (4,), "the input x must have 2 dimensions, as at export, got 3")]:
        with pytest.raises(rushlight.RushlightError, match=message):
            run(torch.ones(x), torch.ones(y))
        with pytest.raises(Exception):
            program.module()(torch.ones(x), torch.ones(y))


class Shapes2(nn.Module):
    def forward(self, x, y):
        return x * y[:, None]


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(2))
        self.register_buffer("last", torch.zeros(3), persistent=False)
        self.register_buffer("w", torch.randn(3))

    def forward(self, x):
        self.n.add_(1)
        before = self.last.clone()
        self.last.copy_(x * self.w)
        return before + self.n.sum(), self.n * 2


@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.feature("torch.export", "mutated buffers")
def test_mutated_buffers_are_state(functional):
    net = Counter()
    x = torch.randn(3)
    program = exported(net, (x,))
    if functional:
        program = program.run_decompositions()
        assert program.graph_signature.buffers_to_mutate
    name = f"ep_buffers_{functional}"
    report = keep(name, program, (x,), eager=net)
    assert sorted(report.state) == ["last", "n"]
    run = session(name)
    for _ in range(2):
        fresh = Counter()
        fresh.load_state_dict(net.state_dict())
        for k in range(4):
            torch.testing.assert_close(run(x + k), fresh(x + k))
        run.reset()


class Writes(nn.Module):
    def forward(self, x, d):
        d["k"].add_(x)
        x[0] = 7
        return x * 2


@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.feature("torch.export", "mutated inputs")
def test_mutated_inputs(functional):
    args = (torch.randn(3), {"k": torch.randn(3)})
    program = exported(Writes(), args)
    if functional:
        program = program.run_decompositions()
        assert program.graph_signature.user_inputs_to_mutate
    report = keep(f"ep_inputs_{functional}", program, args, eager=Writes())
    assert any(op.startswith("aten::copy_") or op.startswith("aten::add_") for op in report.ops)


class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = torch.tensor([1.0, 2.0])

    def forward(self, x):
        t = torch.tensor([3.0, 4.0])
        t.add_(1)  # a fresh tensor at each call
        return x + t * self.plain + torch.ones(2)


@pytest.mark.feature("torch.export", "lifted constants")
def test_lifted_constants():
    net = Constants()
    keep("ep_constants", exported(net, (torch.randn(2),)), (torch.randn(2),), eager=net)
    run = session("ep_constants")
    x = torch.randn(2)
    torch.testing.assert_close(run(x), run(x))


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.pairs = nn.Linear(4, 3), nn.Bilinear(4, 4, 2)

    def forward(self, x, target):
        y = self.fc(x)
        return F.cross_entropy(y, target), F.mse_loss(y, y * 2), self.pairs(x, x), F.unfold(x.view(1, 1, -1, 4), 2)


@pytest.mark.feature("torch.export", "losses, bilinear, unfold: programs of other operators")
def test_operators_that_are_programs_of_others():
    args = torch.randn(3, 4), torch.tensor([0, 2, 1])
    net = Scores()
    keep("ep_scores", exported(net, args), args, eager=net)


class Spread(nn.Module):
    def forward(self, x):
        return torch.nanmean(x, 0), torch.nanquantile(x, torch.tensor([0.5])), torch.logcumsumexp(x, 0)


@pytest.mark.feature("torch.export", "nanmean, nanquantile, logcumsumexp")
def test_statistics_that_pass_over_nan():
    args = (torch.randn(3, 7),)
    net = Spread()
    keep("ep_spread", exported(net, args), args, (torch.tensor([[float("nan"), *range(6)]] * 3),), eager=net)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, ids):
        return self.out(self.emb(ids))


@pytest.mark.feature("torch.export", "tied weights, stored once")
def test_tied_weights_are_stored_once(out):
    net = Tied()
    ids = torch.tensor([[1, 2, 3]])
    keep("ep_tied", exported(net, (ids,)), (ids,), eager=net)
    report = rushlight.export(exported(net, (ids,)), None, out, test_vectors=False)
    assert report.weights_bytes < 2 * 10 * 4 * 4


Point = collections.namedtuple("Point", "x y")


class Trees(nn.Module):
    def forward(self, x, d, pair, *, scale=2.0, flag=True):
        y = x + d["a"] * d["b"]
        z = pair[0] + pair[1][0] - pair[1][1]
        out = {"sum": y * scale, "parts": [y, (z, x)]}
        return out if flag else y


@pytest.mark.feature("torch.export", "nested dicts and lists of inputs and outputs")
def test_trees_of_inputs_and_outputs(out):
    t = lambda: torch.randn(3)  # noqa: E731
    args = (t(), {"a": t(), "b": t()}, (t(), [t(), t()]))
    program = exported(Trees(), args, kwargs={"scale": 3.0, "flag": True})
    full = (*args, 3.0, True)
    report = keep("ep_trees", program, full, eager=lambda x, d, p, s, f: Trees()(x, d, p, scale=s, flag=f))
    assert [i.split(":")[0] for i in report.inputs] == ["x", "d", "pair", "scale", "flag"]
    run = session("ep_trees")
    assert run.inputs() == ["x", "d", "pair", "scale", "flag"] and run.outputs() == ["sum", "parts"]
    got = run(*full)
    assert isinstance(got.parts, list) and isinstance(got.parts[1], tuple)
    torch.testing.assert_close(run(*args), got)  # constants of the program are defaults
    for wrong, message in [((*args, 4.0, True), "the input scale must be 3.0, as at export, got 4"),
                           ((*args, 3.0, False), "the input flag must be True, as at export, got False"),
                           ((t(), {"a": t(), "b": t(), "c": t()}, args[2]), "the input d must have 2 items, as at export, got 3")]:
        with pytest.raises(rushlight.RushlightError, match=message):
            run(*wrong)


class Named(nn.Module):
    def forward(self, p: Point):
        return Point(p.x + p.y, p.x - p.y)


@pytest.mark.feature("torch.export", "named tuples")
def test_named_tuples():
    args = (Point(torch.randn(3), torch.randn(3)),)
    keep("ep_named", exported(Named(), args), args, eager=Named())
    assert session("ep_named").outputs() == ["x", "y"]


class Many(nn.Module):
    def forward(self, x):
        a, b = x.split(2)
        values, indices = b.max(0)
        return None, a, [values, indices], x.topk(2)[0], 3, x


def test_many_results():
    x = torch.randn(4, 3)
    keep("ep_many", exported(Many(), (x,)), (x,), eager=Many())


class Conds(nn.Module):
    def forward(self, x, y):
        def up(a, b):
            return a + b, a * 2
        def down(a, b):
            return torch.cond(a.sum() < -10, lambda t: t - 100, lambda t: t - 1, (a,)), b * 3
        return torch.cond(x.sum() > 0, up, down, (x, y))


@pytest.mark.feature("torch.export", "cond")
def test_cond():
    y = torch.randn(3)
    keep("ep_cond", exported(Conds(), (torch.ones(3), y)), (torch.ones(3), y), (-torch.ones(3), y), (-9 * torch.ones(3), y), eager=Conds())


@pytest.mark.feature("torch.export", "cond on a size")
def test_cond_on_a_size():
    class Net(nn.Module):
        def forward(self, x):
            return torch.cond(x.shape[0] > 4, lambda a: a.sin(), lambda a: a.cos(), (x,))

    n = torch.export.Dim("n", min=2, max=100)
    program = exported(Net(), (torch.randn(3, 2),), dynamic_shapes={"x": {0: n}})
    keep("ep_cond_size", program, (torch.randn(3, 2),), (torch.randn(7, 2),), eager=Net())


@pytest.mark.feature("torch.export", "while_loop")
def test_while_loop():
    from torch._higher_order_ops import while_loop

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, n, x):
            return while_loop(lambda i, y: i > 0, lambda i, y: (i - 1, torch.tanh(self.linear(y)) + y), (n, x))

    net = Net().eval()
    cases = [(torch.tensor(k), torch.randn(2, 3)) for k in (2, 0, 5)]
    keep("ep_while", exported(net, cases[0]), *cases, eager=net)


@pytest.mark.feature("torch.export", "map")
def test_map():
    from functorch.experimental.control_flow import map as map_

    class Net(nn.Module):
        def forward(self, xs, y):
            return map_(lambda x, k: (x * k.sum(), x + 1), xs, y)

    xs, y = torch.randn(4, 3), torch.randn(3)
    n = torch.export.Dim("n", min=2, max=100)
    program = exported(Net(), (xs, y), dynamic_shapes={"xs": {0: n}, "y": None})
    eager = lambda xs, y: (torch.stack([x * y.sum() for x in xs]), xs + 1)  # noqa: E731
    keep("ep_map", program, (xs, y), eager=eager)
    other = (torch.randn(7, 3), y)
    if torch.__version__ < (2, 7):
        for run in (program.module(), session("ep_map")):  # torch 2.6 finds that the size is fixed
            with pytest.raises(RuntimeError, match="7"):
                run(*other)
    else:
        torch.testing.assert_close(session("ep_map")(*other), eager(*other))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.feature("torch.export", "scan")
def test_scan(reverse):
    from torch._higher_order_ops import scan

    class Net(nn.Module):
        def forward(self, init, xs):
            return scan(lambda c, x: (c * 0.5 + x, (c * x)[None]), init, xs, dim=1, reverse=reverse)

    def eager(init, xs):
        rows, order = [], list(range(xs.shape[1]))
        for i in reversed(order) if reverse else order:
            rows.append((init * xs[:, i])[None])
            init = init * 0.5 + xs[:, i]
        return init, torch.stack(rows[::-1] if reverse else rows)

    args = (torch.randn(2), torch.randn(2, 5))
    net = Net()  # torch 2.6 exports a scan that it cannot run. It stacks the rows in front for every `dim`
    keep(f"ep_scan_{reverse}", exported(net, args), args, eager=eager if torch.__version__ < (2, 7) else net)


@pytest.mark.feature("torch.export", "item() and asserts")
def test_item_and_asserts(out):
    class Net(nn.Module):
        def forward(self, n, x):
            k = n.item()
            torch._check(k >= 0)
            torch._check(k <= x.shape[0])
            return x[:1] * k + 0.5 * k

    args = (torch.tensor(2), torch.randn(4))
    keep("ep_item", exported(Net(), args), args, (torch.tensor(3), torch.randn(4)), eager=Net())
    with pytest.raises(rushlight.RushlightError):
        session("ep_item")(torch.tensor(-1), torch.randn(4))


@pytest.mark.feature("torch.export", "no_grad regions")
def test_no_grad_regions():
    class Net(nn.Module):
        def forward(self, x):
            with torch.no_grad():
                y = x * 2
            return y + x

    keep("ep_no_grad", exported(Net(), (torch.randn(3),)), (torch.randn(3),), eager=Net())


@pytest.mark.feature("torch.export", "an operator that the runtime lacks", rushlight="refuses")
def test_a_missing_operator_is_named_with_its_line(out):
    class Net(nn.Module):
        def forward(self, x):
            return torch._compute_linear_combination(x, x)

    line = Net.forward.__code__.co_firstlineno + 1
    with pytest.raises(rushlight.RushlightError, match=rf"(?s)_compute_linear_combination.*{FILE}:{line}"):
        rushlight.export(exported(Net(), (torch.randn(3, 3),)), None, out)


def test_other_containers_are_refused(out):
    class Net(nn.Module):
        def forward(self, x):
            return {1: x, "a": x}

    with pytest.raises(rushlight.RushlightError, match="the keys of a dict must be all strings, ints"):
        rushlight.export(exported(Net(), (torch.randn(3),)), None, out)


def test_other_methods_are_refused(out):
    with pytest.raises(ValueError, match="methods of an ExportedProgram must be"):
        rushlight.export(exported(Small(), (torch.randn(1, 3, 8, 8),)), None, out, methods=("encode",))


def test_without_source_no_paths(out):
    x = torch.randn(1, 3, 8, 8)
    rushlight.export(exported(Small(), (x,)), None, out, source=False)
    data = open(out, "rb").read()
    assert FILE.encode() not in data and b"forward(self" not in data


@pytest.mark.feature("torch.export", "export without torch.jit")
def test_the_way_in_does_not_need_torch_jit(out, monkeypatch):
    def refuse(*args, **kwargs):
        raise RuntimeError("torch.jit is refused")

    program = exported(Small(), (torch.randn(1, 3, 8, 8),))
    for name in ("script", "trace", "load", "freeze"):
        monkeypatch.setattr(torch.jit, name, refuse)
    assert rushlight.export(program, None, out, trace=True).verified
    assert rushlight.diff(out, program, (torch.randn(1, 3, 8, 8),)) and rushlight.diff(out)


def test_a_text_that_looks_like_a_comment_stays_whole(out):
    class Net(nn.Module):
        def forward(self, x, mode: str):
            return x + len(mode)

    args = (torch.randn(3), "a  # b @7")
    for source in (True, False):
        rushlight.export(exported(Net(), args), args, out, source=source)
        with pytest.raises(rushlight.RushlightError, match="must be a  # b @7, as at export, got a"):
            rushlight.load(out)(torch.randn(3), "a")


def test_a_path_may_hold_any_words(out, tmp_path, monkeypatch):
    file = tmp_path / "nets in use" / "one of them.py"
    file.parent.mkdir()
    file.write_text("import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.relu()\n")
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    program = exported(nn.Sequential(names["Net"]()), (torch.randn(3),))
    rushlight.export(program, None, out)
    assert "one of them.py:6" in rushlight.describe(out) and "nets in use/" not in rushlight.describe(out)
    monkeypatch.chdir(tmp_path)
    rushlight.export(program, None, out)
    assert "nets in use/one of them.py:6" in rushlight.describe(out)


@pytest.mark.parametrize("view", [torch.atleast_2d, lambda c: torch.broadcast_tensors(c, c)[0], lambda c: torch.meshgrid(c, indexing="ij")[0],
                                  lambda c: torch.einsum("i->i", c), lambda c: c.type_as(c)],
                         ids=["atleast_2d", "broadcast_tensors", "meshgrid", "einsum", "type_as"])
def test_what_is_written_through_an_alias_that_schemas_do_not_tell(view, request):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("c", torch.zeros(3))

        def forward(self, x):
            view(self.c).add_(x)
            return self.c * 1

    net, x = Net(), torch.randn(3)
    name = f"ep_alias_{request.node.callspec.id}"
    keep(name, exported(net, (x,)), (x,), eager=net)
    loaded = session(name)
    loaded(x)
    torch.testing.assert_close(loaded(x), 2 * x)


def test_attention_with_the_kernels_name(out):
    class Net(nn.Module):
        def forward(self, q, m):
            f = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
            return f(q, q, q)[0], f(q, q, q, 0.0, False, attn_mask=m, scale=0.5)[0]

    args = (torch.randn(1, 2, 4, 8), torch.randn(4, 4))
    keep("ep_flash", exported(Net(), args), args, eager=Net(), rtol=1e-4, atol=1e-5)


def test_copies_of_views_are_contiguous(out):
    class Net(nn.Module):
        def forward(self, x):
            y = torch.ops.aten.permute_copy(x, [1, 0])
            z = torch.ops.aten.split_copy.Tensor(x, 2)
            return y.view(-1), torch.tensor(y.stride()), z[0] + 1, torch.ops.aten.select_copy.int(x, 1, 0)

    args = (torch.randn(4, 3),)
    keep("ep_copies", exported(Net(), args), args, eager=Net())
    program = torch.fx.experimental.proxy_tensor.make_fx(Net())(*args)
    keep("fx_copies", program, args, eager=Net())
