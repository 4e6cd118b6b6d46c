"""Reads exported files with the second reader, and checks their contents."""

import os

import models
import numpy as np
import pytest
import reader
import rushlight
import torch


def export(model, args, out, **options):
    options.setdefault("allow_missing", True)
    options.setdefault("verify", False)
    report = rushlight.export(model, args, out, **options)
    return report, reader.read(out)


def test_a_network_is_folded_and_fused(out):
    net = models.Net().eval()
    _, m = export(net, torch.rand(1, 3, 8, 8), out)
    assert m.ops() == ["rush::conv", "rush::conv", "aten::mean.dim", "rush::linear"]
    instrs = m.methods["forward"]["instrs"]
    assert [i.inputs[7][1] for i in instrs[:2]] == [0.0, 0.0]  # both clamps are part of the convolutions
    assert [i.inputs[8][1] for i in instrs[:2]] == [float("inf"), 6.0]
    # Channels last is only strides; a depthwise weight stays contiguous.
    assert instrs[0].inputs[1][1].strides == (27, 1, 9, 3)
    assert instrs[1].inputs[1][1].strides == (9, 9, 3, 1)
    fc = instrs[3].inputs[1][1]
    assert fc.name == "fc.weight" and fc.strides == (8, 1)
    np.testing.assert_array_equal(fc.data, net.fc.weight.detach().numpy())


def test_pointwise_operators_in_a_row_are_chains(out):
    def chains(model, *args):
        _, m = export(model, args, out)
        instrs = [i for i in m.methods["forward"]["instrs"] if i.op]
        return [(i.inputs[0][1], [j.op.split("::")[1].split(".")[0] for j in instrs[at + 1:at + 1 + i.inputs[0][1]]])
                for at, i in enumerate(instrs) if i.op == "rush::chain"]

    x = torch.rand(3, 4)
    # A view ends a chain. One operator alone is not a chain, and operators that write or sum are not part of one.
    assert chains(lambda x: torch.relu((x * 2).tanh().t()) - 1, x) == [(2, ["mul", "tanh"]), (2, ["relu", "sub"])]
    assert chains(lambda x: torch.relu(x.tanh().t()).sum() + x.clone().add_(1), x) == []

    @torch.jit.script
    def branches(x, p: bool):
        y = x.tanh()
        if p:
            y = -y.abs()
        for k in range(3):
            y = y.exp() * k
        return y.sin()

    assert chains(branches, x, True) == [(2, ["abs", "neg"]), (2, ["exp", "mul"])]

    def long(x):
        for _ in range(67):
            x = -x
        return x

    assert chains(long, x) == [(64, 64 * ["neg"]), (3, 3 * ["neg"])]


def test_lines_are_relative_and_outside_torch(out):
    _, m = export(models.Net(), torch.rand(1, 3, 8, 8), out)
    here = os.path.relpath(models.__file__)
    for i in m.methods["forward"]["instrs"]:
        if i.op:
            assert i.source[0] in (here, "models.py"), i
            assert not i.source[0].startswith("/")
    assert m.methods["forward"]["instrs"][0].source[3] in ("conv", None)
    assert str(os.getcwd()).encode() not in m.bytes
    assert b"/dist-packages/" not in m.bytes and b"/site-packages/" not in m.bytes


def test_without_source_there_are_no_lines_and_no_texts(out):
    _, m = export(torch.jit.script(models.Mlp()), torch.rand(2, 4), out, source=False)
    assert not m.texts and not m.tables["sources"]
    assert b"models.py" not in m.bytes


def test_pytorchs_texts_are_kept(out):
    scripted = torch.jit.script(models.Mlp())
    _, m = export(scripted, torch.rand(2, 4), out)
    assert m.texts[("", 1)] == scripted.code
    assert m.texts[("a", 1)] == scripted.a.code
    assert "aten::linear" in m.texts[("a", 0)]
    assert m.texts[("", 2)] == str(torch.jit.load(save(scripted, out + ".pt")))


def save(module, path):
    module.save(path)
    return path


def test_exporting_twice_gives_the_same_bytes(out, tmp_path):
    torch.manual_seed(3)
    net = models.Net()
    x = torch.rand(1, 3, 8, 8)
    other = str(tmp_path / "other.rush")
    export(net, x, out)
    export(net, x, other)
    with open(out, "rb") as a, open(other, "rb") as b:
        assert a.read() == b.read()


def test_from_a_file_it_is_the_same_model(out, tmp_path):
    scripted = torch.jit.script(models.Mlp())
    scripted.save(str(tmp_path / "m.pt"))
    _, a = export(scripted, torch.rand(2, 4), out)
    _, b = export(str(tmp_path / "m.pt"), torch.rand(2, 4), out)
    assert a.ops() == b.ops()
    for i, k in zip(a.methods["forward"]["instrs"], b.methods["forward"]["instrs"]):
        assert i.source == k.source


def test_tied_weights_are_stored_once(out):
    net = models.Tied()
    report, m = export(net, torch.tensor([[1, 2, 3]]), out, test_vectors=False)
    assert len(m.tables["storages"]) == 1
    assert report.weights_bytes == 192  # 11 * 4 floats, to a multiple of 64


def test_views_of_one_storage_share_it_and_its_rest_is_left_out(out):
    class Views(torch.nn.Module):
        def __init__(self):
            super().__init__()
            base = torch.arange(1000, dtype=torch.float32)
            self.register_buffer("a", base[100:104])
            self.register_buffer("b", base[102:110].view(2, 4).t())

        def forward(self, x):
            return x + self.a, torch.exp(self.b + x[0])

    _, m = export(Views(), torch.rand(4), out, test_vectors=False)
    assert len(m.tables["storages"]) == 1 and m.tables["storages"][0][1] <= 12 * 4
    tensors = {t.name: t for t in (m.tensor(i) for i in range(len(m.tables["tensors"])))}
    np.testing.assert_array_equal(tensors["a"].data, [100, 101, 102, 103])
    np.testing.assert_array_equal(tensors["b"].data, np.arange(102, 110).reshape(2, 4).T)


class Repeats(torch.nn.Module):
    """Has buffers that repeat a pattern: a state, constants, and one that stops repeating at its end."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, 64, 1000))
        self.register_buffer("halves", torch.full((33,), 1.5, dtype=torch.float16))
        self.register_buffer("turns", torch.tensor([1.0, -1.0]).repeat(50))
        self.register_buffer("wide", torch.ones(1000, dtype=torch.complex128))
        self.register_buffer("ends", torch.cat([torch.zeros(99), torch.ones(1)]))

    def forward(self, x):
        self.cache[:, :2] += x
        return self.cache * 1, self.halves + x.half(), self.turns + x, self.wide * x, self.ends + x


def test_uniform_constants_take_no_bytes(out, tmp_path):
    report, m = export(torch.jit.script(Repeats()), torch.tensor(2.0), out, test_vectors=False)
    names = {t.name: t for t in (m.tensor(i) for i in range(len(m.tables["tensors"])))}
    assert {name for name, t in names.items() if t.storage in m.patterns} >= {"cache", "halves", "turns"}
    assert names["ends"].storage not in m.patterns and names["wide"].storage not in m.patterns
    assert report.file_bytes < 64 * 1000 * 4 / 2
    for name, value in Repeats().named_buffers():
        np.testing.assert_array_equal(names[name].data, value)
    session, fresh = rushlight.load(out), Repeats()
    for x in torch.tensor(2.0), torch.tensor(-3.0):
        for got, want in zip(session(x), fresh(x)):
            torch.testing.assert_close(got, want)
    session.reset()
    assert float(session(torch.tensor(0.0))[0].abs().sum()) == 0


def test_a_small_file_stores_constants_that_its_memory_limit_refuses(out):
    class Cache(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(40 << 18))
            self.register_buffer("short", torch.ones(1000))
            self.register_buffer("empty", torch.zeros(2000))

        def forward(self, x):
            self.cache += x
            self.empty += x
            return self.cache[:1] + self.short[:1] + self.empty[:1]

    report, m = export(torch.jit.script(Cache()), torch.tensor(2.0), out, test_vectors=False)
    stored = {t.name for t in (m.tensor(i) for i in range(len(m.tables["tensors"]))) if t.storage not in m.patterns}
    assert report.file_bytes > 40 << 20 and "cache" in stored and "empty" not in stored
    assert float(rushlight.load(out)(torch.tensor(2.0))) == 5


def test_weights_stand_in_the_order_of_use(out):
    _, m = export(models.Mlp(), torch.rand(2, 4), out, test_vectors=False)
    by_storage = sorted((m.tensor(i) for i in range(len(m.tables["tensors"]))), key=lambda t: t.storage)
    assert [t.name for t in by_storage] == ["a.bias", "a.weight", "b.bias", "b.weight"]


def test_ports_say_what_the_schema_says(out):
    _, m = export(torch.jit.script(models.branch), None, out)
    a, b, c = m.methods["forward"]["inputs"]
    assert (a["name"], a["type"], a["default"]) == ("x", "Tensor", None)
    assert (b["name"], b["type"], b["default"]) == ("flag", "bool", True)
    assert (c["name"], c["type"], c["default"]) == ("n", "int", 3)
    assert m.methods["forward"]["result"] == "Tensor"


def test_hints_say_what_the_examples_show(out):
    _, m = export(models.Mlp(), torch.rand(2, 4), out)
    (x,), (y,) = m.methods["forward"]["inputs"], m.methods["forward"]["outputs"]
    assert (x["dtype"], x["shape"]) == (6, [2, 4]) and (y["dtype"], y["shape"]) == (6, [2, 3])
    _, m = export(models.Mlp(), torch.rand(2, 4), out, dynamic_shapes={"x": {0: "N"}})
    assert m.methods["forward"]["inputs"][0]["shape"] == [None, 4]
    assert m.methods["forward"]["outputs"][0]["shape"] == [None, 3]
    assert len(m.tests) == 1
    scripted = torch.jit.script(models.Mlp())
    _, m = export(scripted, None, out, inputs=["x=Nx4"])
    assert m.methods["forward"]["inputs"][0]["shape"] == [None, 4]
    assert m.methods["forward"]["outputs"][0]["shape"] == [None, 3]
    assert len(m.tests) == 2


def test_outputs_have_names(out):
    x = torch.rand(3)
    names = lambda m: [o["name"] for o in m.methods["forward"]["outputs"]]
    assert names(export(torch.jit.script(models.named), x, out)[1]) == ["x", "y"]
    assert names(export(torch.jit.script(models.nothing), x, out)[1]) == []
    assert names(export(lambda x: (x + 1, x * 2), x, out)[1]) == ["output_0", "output_1"]
    assert names(export(lambda x: (x + 1, x * 2), x, out, output_names=["p", "q"])[1]) == ["p", "q"]
    with pytest.raises(ValueError, match="output_names must have 2 names, got 3"):
        export(lambda x: (x + 1, x * 2), x, out, output_names=["p", "q", "r"])


def test_inputs_can_be_renamed(out):
    _, m = export(models.Mlp(), torch.rand(2, 4), out, input_names=["features"])
    assert m.methods["forward"]["inputs"][0]["name"] == "features"


def test_state_is_attributes(out):
    _, m = export(torch.jit.script(models.Outer()), torch.rand(2), out)
    assert [(n, t) for n, t, _ in m.attributes] == [("inner.total", "Tensor"), ("inner.calls", "int")]
    assert m.attributes[1][2] == 0
    np.testing.assert_array_equal(m.attributes[0][2].data, [0, 0])
    assert "rush::get_attr" in m.ops() and "rush::set_attr" in m.ops()


def test_several_methods_share_state(out):
    _, m = export(torch.jit.script(models.Counter()), torch.rand(2), out, methods=["forward", "reset"])
    assert list(m.methods) == ["forward", "reset"]
    assert len(m.attributes) == 2
    assert m.methods["reset"]["result"] == "None" and m.methods["reset"]["outputs"] == []


def test_a_reset_of_state_that_is_written_in_place_stores_a_copy(out):
    model = torch.jit.script(models.InPlaceReset())
    _, m = export(model, torch.rand(3), out, methods=["forward", "reset"])
    assert [n for n, _, _ in m.attributes] == ["seen"]
    assert m.ops("reset") == ["aten::clone", "rush::set_attr"]


def test_a_buffer_written_in_place_is_state(out):
    for model in (torch.jit.script(models.InPlaceState()), models.InPlaceState()):
        _, m = export(model, torch.rand(3), out)
        assert [n for n, _, _ in m.attributes] == ["seen"]


def test_control_flow_nests(out):
    for f in (models.branch, models.nested):
        export(torch.jit.script(f), None, out)  # the reader checks registers, targets and nesting
    _, m = export(torch.jit.script(models.nested), None, out)
    codes = [i.opcode for i in m.methods["forward"]["instrs"]]
    assert codes.count("LOOP") == 2 and codes.count("IF") == 1


def test_out_is_a_copy(out):
    _, m = export(torch.jit.script(models.out_form), (torch.rand(3), torch.rand(3)), out)
    assert "rush::copy_out" in m.ops() and "aten::add.Tensor" in m.ops()


def test_made_up_inputs_are_what_the_format_says(out):
    _, m = export(torch.jit.script(models.Mlp()), None, out, inputs=["2x4:float32:-3..5"])
    (method, (x,), y, rtol, atol), = m.tests
    values = x.values()
    assert values.shape == (2, 4) and values.dtype == np.float32 and -3 <= values.min() < values.max() <= 5
    # If the exporter had stored other values, its answer would differ from PyTorch's for these inputs.
    torch.manual_seed(0)
    weights = {t.name: torch.tensor(t.data.copy()) for t in
               (m.tensor(i) for i in range(len(m.tables["tensors"]))) if t.name}
    model = models.Mlp()
    model.load_state_dict(weights)
    np.testing.assert_allclose(y.data, model(torch.from_numpy(values)).detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spec,dtype,low,high", [
    ("x=7:int64:0..100", np.int64, 0, 99), ("x=3x5:int32:-4..4", np.int32, -4, 3),
    ("x=64:uint8", np.uint8, 0, 1), ("x=64:bool", np.bool_, 0, 1), ("x=9:float64:0..1", np.float64, 0, 1)])
def test_every_dtype_can_be_made_up(out, spec, dtype, low, high):
    _, m = export(torch.jit.script(lambda_identity), None, out, inputs=[spec])
    (_, (x,), y, _, _), = m.tests
    assert x.values().dtype == dtype and low <= x.values().min() and x.values().max() <= high
    np.testing.assert_array_equal(x.values(), y.data)


def lambda_identity(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


def test_given_tests_are_stored_as_they_are(out):
    base = torch.arange(12.0).view(3, 4)
    a, b = base[1:, :2], base.t()[1]
    last = torch.rand(1, 2, 3, 3).to(memory_format=torch.channels_last)

    def f(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return a.sum() + b.sum() + c.sum()

    export(torch.jit.script(sums), None, out, tests=[((a, b, last), torch.tensor(5.0), 0.5, 0.25)])
    (_, (x, y, z), want, rtol, atol), = reader.read(out).tests
    assert (rtol, atol) == (0.5, 0.25) and want.data == 5.0
    np.testing.assert_array_equal(x.data, a.numpy())
    np.testing.assert_array_equal(y.data, b.numpy())
    assert x.strides == a.stride() and y.strides == b.stride() and z.strides == last.stride()
    assert x.storage == y.storage != z.storage  # they alias
    del f


def sums(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    return a.sum() + b.sum() + c.sum()


def test_tests_hold_every_kind_of_value(out):
    args = (torch.rand(2), [1, 2], {"a": torch.rand(2)}, None)
    export(torch.jit.script(models.containers), None, out, tests=[(args, None)])
    (_, (x, ints, names, maybe), want, _, _), = reader.read(out).tests
    assert ints == [1, 2] and maybe is None and list(names) == ["a"]
    np.testing.assert_allclose(want["out"][0].data, args[0].numpy() + 1)


def noisy(x: torch.Tensor) -> torch.Tensor:
    return x + torch.rand(3)


def test_a_model_that_draws_random_numbers_is_verified_with_one_seed(out):
    model, x = torch.jit.script(noisy), torch.ones(3)
    torch.manual_seed(5)
    report, m = export(model, x, out, verify=True)
    after = torch.rand(2)
    assert report.verified and m.tests
    torch.manual_seed(5)
    assert torch.equal(torch.rand(2), after)  # the caller's own random numbers continue as if nothing had been exported


def test_a_model_that_answers_differently_each_time_stores_no_vector(out):
    count = [0]

    class Counts(torch.nn.Module):
        def forward(self, x):
            count[0] += 1
            return x + count[0]

    report, m = export(Counts(), torch.rand(3), out)
    assert not m.tests and "differently each time" in str(report)


def test_written_arguments_do_not_change_the_stored_ones(out):
    x = torch.zeros(3)
    export(torch.jit.script(models.nothing), None, out, tests=[((x,), None)])
    (_, (stored,), want, _, _), = reader.read(out).tests
    np.testing.assert_array_equal(stored.data, [0, 0, 0])
    assert want is None and x.sum() == 0
