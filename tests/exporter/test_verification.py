"""Verification at other sizes, with empty answers and synthetic inputs, and in training mode."""

import re
import warnings

import pytest
import reader
import rushlight
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

pytestmark = pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")


def refused(*args, **kwargs):
    with pytest.raises(rushlight.RushlightError) as e:
        rushlight.export(*args, **kwargs)
    return e.value


# ---- Empty answers


class Detector(nn.Module):
    """A detector whose letterbox a trace fixes to the example's picture. It finds nothing in noise."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 5, 8, 8)
        self.conv.weight.data[4] = 1 / 110.
        self.conv.bias.data[4] = 0

    def found(self, y):
        return y[:, 4] > 1.1

    def forward(self, image):  # uint8 [height, width, 3]
        ratio = min(64 / image.shape[0], 64 / image.shape[1])
        h, w = int(round(image.shape[0] * ratio)), int(round(image.shape[1] * ratio))
        x = F.interpolate(image.permute(2, 0, 1)[None].float() / 255, size=(h, w), mode="bilinear")
        y = self.conv(F.pad(x, (0, 64 - w, 0, 64 - h))).flatten(2)[0].T
        boxes = torch.cat([y[:, :2] * 8 + 32, y[:, :2] * 8 + 40 + y[:, 2:4].abs()], 1) / ratio
        keep = self.found(y)
        return boxes[keep], y[keep, 4]


class Whole(Detector):
    """The same detector without a size that a trace fixes."""

    def forward(self, image):
        y = self.conv(image.permute(2, 0, 1)[None].float() / 255).flatten(2)[0].T
        keep = self.found(y)
        return y[keep, :4], y[keep, 4]


NOISE = torch.randint(0, 255, (48, 64, 3), dtype=torch.uint8)
SIZES = {"image": {0: "H", 1: "W"}}


def test_what_comes_before_an_empty_answer_is_compared(out):
    error = refused(Detector().eval(), (NOISE,), out, dynamic_shapes=SIZES)
    assert error.code == "mismatch" and "what comes before aten::" in str(error) and "test_verification.py:" in str(error)
    assert "at sizes other than the example's" in str(error) and "int(...) of a size gives a constant" in str(error)


def test_an_empty_answer_with_the_right_values_before_it_is_verified_and_said(out):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = rushlight.export(Whole().eval(), (NOISE,), out, dynamic_shapes=SIZES)
    assert "image [49, 65, 3]" in report.verified_sizes
    said, = [w for w in report.warnings if "are empty. The values before" in w]
    assert "The values before aten::" in said and any(said == str(w.message) for w in caught)
    bright = torch.zeros(96, 48, 3, dtype=torch.uint8)
    bright[20:60, 10:40] = 255
    for got, want in zip(rushlight.load(out)(bright), Whole().eval()(bright)):
        assert len(want) and torch.allclose(got, want)


def test_an_example_in_which_something_is_found_says_nothing(out):
    bright = torch.full((48, 64, 3), 255, dtype=torch.uint8)
    whole = Whole().eval()
    report = rushlight.export(whole, (bright,), out, tests=[((bright,), whole(bright))], test_vectors=False)
    assert report.warnings == []
    assert report.measured == rushlight.load(out).verify()[0].measured > 0


def test_an_empty_test_vector_is_said(out):
    class Sevens(nn.Module):
        def forward(self, x):
            return x[x == 7]

    x = torch.tensor([7.0, 1.0, 7.0])
    report = rushlight.export(Sevens(), (x,), out)
    said, = [w for w in report.warnings if w.startswith("verify() compares no numbers with the stored test vector")]
    assert "tests=[(args, expected)]" in said and report.measured == 0
    verified, = rushlight.load(out).verify()
    assert verified.measured == verified.compared == 0


class Unseen(nn.Module):
    """The answer is empty at every size but the example's, and no operator on floats shows the reason."""

    def forward(self, x):
        n = int(x.shape[0])
        return torch.arange(float(n))[:max(0, (5 - n) * (n - 3))]


def test_an_empty_answer_at_a_constrained_size_that_tracing_warned_of_is_refused(out):
    error = refused(Unseen(), (torch.rand(4),), out, dynamic_shapes={"x": {0: "n"}})
    assert "at sizes other than the example's" in str(error) and "test_verification.py:" in str(error)


def test_what_comes_before_a_filter_is_seen_as_it_was_then(out):
    class Written(nn.Module):
        def forward(self, x):
            y = x * 2
            y[y > 1] = 7.0
            return y[y > 7]

    report = rushlight.export(Written(), (torch.rand(3, 4),), out)
    assert any("are empty. The values before" in w for w in report.warnings)


def test_nothing_to_compare_is_said_of_a_scripted_model_too(out):
    def none(x):
        return x[:0]

    report = rushlight.export(torch.jit.script(none), (torch.rand(3),), out, dynamic_shapes={"x": {0: "n"}})
    assert any("nothing was compared at x [4]; x [6]" in w for w in report.warnings) and report.verified_sizes == []
    assert any("PyTorch's outputs are empty" in w for w in report.warnings)


# ---- Sizes of 1 and 2


class Attention(nn.Module):
    """Attention as in transformers: a prompt is causal, and a step is not."""

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=bool(q.shape[2] > 1))


class Squeezed(nn.Module):
    def forward(self, x):
        return x.squeeze() if x.shape[1] == 1 else x * 2


class Pairs(nn.Module):
    def forward(self, x):
        return x[0] + x[1] if x.shape[0] == 2 else x.sum(0) * 2


def test_a_name_is_tried_at_one_while_others_stay(out):
    q, k = torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8)
    error = refused(Attention(), (q, k, k), out, dynamic_shapes={"q": {2: "n"}, "k": {2: "m"}, "v": {2: "m"}})
    assert "(q [1, 2, 1, 8])" in str(error) and "give a range: Dim(name, min=..., max=...)" in str(error)
    report = rushlight.export(Attention(), (q, k, k), out, dynamic_shapes={"q": {2: Dim("n", min=2)}, "k": {2: "m"}, "v": {2: "m"}})
    assert "q [1, 2, 2, 8]" in report.verified_sizes and not any("q [1, 2, 1, 8]" in tried for tried in report.verified_sizes)


@pytest.mark.parametrize("model, size", [(Squeezed(), "x [2, 1]"), (Pairs(), "x [2, 5]")])
def test_sizes_of_one_and_two_are_tried(model, size, out):
    dim = 1 if isinstance(model, Squeezed) else 0
    error = refused(model, (torch.randn(4, 5) if dim == 0 else torch.randn(2, 5),), out, dynamic_shapes={"x": {dim: "n"}})
    assert f"({size})" in str(error)


class Experts(nn.Module):
    """Experts as in Mixtral: it loops over the experts that tokens selected. Many tokens select all of them."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.gate = nn.Linear(8, 4)
        self.experts = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

    def forward(self, x):
        chosen = self.gate(x).argmax(-1)
        out = torch.zeros_like(x)
        for i in F.one_hot(chosen, 4).sum(0).nonzero():
            out[chosen == i] = self.experts[int(i)](x[chosen == i])
        return out


def test_experts_that_few_tokens_do_not_reach_are_found(out):
    error = refused(Experts(), (torch.randn(80, 8),), out, dynamic_shapes={"x": {0: "n"}})
    assert "at sizes other than the example's" in str(error) or "tracing fixed numbers" in str(error)


def test_sizes_that_pytorch_refuses_are_left_out(out):
    report = rushlight.export(nn.Conv1d(3, 4, 5).eval(), (torch.randn(2, 3, 9),), out, dynamic_shapes={"input": {2: "n"}})
    assert report.verified_sizes == ["input [2, 3, 10]", "input [2, 3, 18]", "input [2, 3, 11]"] and report.warnings == []


# ---- The mode in which a model is used


def encoder(**options):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu")
    return nn.TransformerEncoder(layer, 2, **options).eval()


class Padded(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.encoder = encoder(**options)

    def forward(self, x, hidden):
        return self.encoder(x, src_key_padding_mask=hidden)


HIDDEN = torch.tensor([[False, False, False, True, True], [False] * 5])
GAPS = torch.tensor([[False, True, False, True, True], [False] * 5])


@pytest.mark.parametrize("norm", [None, nn.LayerNorm(16)])
def test_a_hidden_item_is_zero_as_in_pytorch(norm, out):
    model = Padded(norm=norm).eval()
    if norm is not None:
        norm.bias.data.fill_(0.5)
    x = torch.randn(2, 5, 16)
    report = rushlight.export(model, (x, HIDDEN), out, dynamic_shapes={"x": {0: "b", 1: "n"}, "hidden": {0: "b", 1: "n"}})
    note, = report.notes
    assert "the encoder 'encoder' gives zeros where src_key_padding_mask hides an item" in note and note in str(report)
    run = rushlight.load(out)
    for mask in (HIDDEN, GAPS, torch.zeros(2, 5, dtype=torch.bool)):
        with torch.no_grad():
            want = model(x, mask)
        torch.testing.assert_close(run(x, mask), want, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        assert (model(x, HIDDEN)[0, 3:] == (0 if norm is None else 0.5)).all()


def test_the_switch_of_the_fast_path_is_pytorchs(out, monkeypatch):
    monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", False)
    model, x = Padded().eval(), torch.randn(2, 5, 16)
    report = rushlight.export(model, (x, HIDDEN), out)
    with torch.no_grad():
        want = model(x, HIDDEN)
    assert report.notes == [] and want[0, 3:].abs().min() > 0
    torch.testing.assert_close(rushlight.load(out)(x, HIDDEN), want, rtol=1e-4, atol=1e-5)


def test_a_model_in_training_mode_is_said(out):
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    assert any("the model is in training mode" in note for note in rushlight.export(net, torch.randn(2, 4), out).notes)
    assert "note      the model is in training mode" in str(rushlight.export(net, torch.randn(2, 4), out))
    assert rushlight.export(net, torch.randn(2, 4), out, train=True).notes == [] == rushlight.export(net.eval(), torch.randn(2, 4), out).notes


def test_random_numbers_are_said(out):
    class Noisy(nn.Module):
        def forward(self, x):
            return x + torch.rand_like(x)

    x = torch.rand(3)
    for model in (Noisy(), torch.export.export(Noisy(), (x,))):
        report = rushlight.export(model, (x,), out)
        assert report.random == "aten::rand_like" and "answers change from call to call" in str(report)
    assert rushlight.export(nn.ReLU(), (x,), out).random == ""


def test_a_program_that_gives_none_says_so(out):
    class Partly(nn.Module):
        def forward(self, x):
            return {"x": x * 2, "stop": None}

    report = rushlight.export(torch.export.export(Partly(), (torch.rand(3),)), None, out)
    assert report.notes == ["the program returns None for 1 of its 2 results, for all inputs"] and report.notes[0] in str(report)


# ---- Synthetic inputs


@pytest.mark.parametrize("x", [
    torch.rand(2, 3, 6, 5).to(memory_format=torch.channels_last), torch.rand(2, 6, 5, 3).permute(0, 3, 1, 2), torch.rand(40, 3)[::2],
    torch.rand(3, 1).expand(3, 4), torch.rand(9)[2:7], torch.rand(2, 6)[:, :4], torch.rand(9).unfold(0, 3, 1), torch.rand(3, 4),
])
def test_made_up_inputs_keep_the_layout(x, out):
    seen = []

    class Looks(nn.Module):
        def forward(self, x):
            if not torch.jit.is_tracing():
                seen.append((x.stride(), x.storage_offset(), x.clone()))
            return x * 2

    report = rushlight.export(Looks(), (x,), out)
    made = [stride for stride, offset, value in seen if not torch.equal(value, x)]
    windows = x.stride() == (1, 1)
    assert report.test_vectors == 1 and made and set(made) == {x.stride() if not windows else (3, 1)}
    assert rushlight.load(out).verify()


def test_strides_that_a_trace_recorded_are_no_fault(out):
    class Flat(nn.Module):
        def forward(self, x):
            return x.permute(0, 2, 3, 1).view(x.shape[0], -1, x.shape[1]) * 2

    report = rushlight.export(Flat(), (torch.rand(2, 3, 6, 5).to(memory_format=torch.channels_last),), out,
                              dynamic_shapes={"x": {0: "n", 2: "h"}})
    assert "x [3, 3, 7, 5]" in report.verified_sizes


class Pool(nn.Module):
    """Pooling as in torch_geometric: one row for each group, and the group numbers decide how many there are."""

    def forward(self, x, batch):
        return torch.zeros(int(batch.max()) + 1, x.shape[1]).index_add(0, batch, x)


class Distinct(nn.Module):
    def forward(self, x, batch):
        return x * len(set(batch.tolist()))


class Placed(nn.Module):
    def forward(self, x, batch):
        return x * float(batch[-1].item())


@pytest.mark.parametrize("batch", [[0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 1, 3]])
@pytest.mark.parametrize("model", [Pool(), Distinct(), Placed()])
def test_numbers_of_integers_that_a_trace_fixed_are_found(model, batch, out):
    error = refused(model, (torch.rand(4, 3), torch.tensor(batch)), out)
    assert "tracing fixed numbers that depend on the values of batch" in str(error), error
    rushlight.export(model, (torch.rand(4, 3), torch.tensor(batch)), out, test_vectors=False)


def test_indices_that_pytorch_refuses_are_no_fault(out):
    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(4, 3)

        def forward(self, ids, mask):
            return self.table(ids) * mask[..., None]

    report = rushlight.export(Rows(), (torch.tensor([[0, 3, 1]]), torch.ones(1, 3, dtype=torch.int64)), out)
    assert report.verified == 1 and report.warnings == []


class Step(nn.Module):
    """One step of a decoder. Only real caches show its rounding, because random ones have scores that differ widely."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 8)

    def forward(self, ids, past):
        x = self.table(ids)
        out = [(torch.cat([k, x * (i + 1)], 1), torch.cat([v, x - i], 1)) for i, (k, v) in enumerate(past)]
        return sum(F.scaled_dot_product_attention(x, k, v) for k, v in out), out


def test_made_up_caches_come_from_the_model(out):
    step = Step().eval()
    with torch.no_grad():
        _, past = step(torch.tensor([[1, 2, 3]]), [(torch.zeros(1, 0, 8), torch.zeros(1, 0, 8))] * 2)
        report = rushlight.export(step, (torch.tensor([[7]]), past), out, dynamic_shapes={"past": [({1: "n"}, {1: "n"})] * 2})
    assert report.test_vectors == 1 and "past.0-3 [1, 6, 8]" in report.verified_sizes
    rows = {tuple(row.tolist()) for k, v in past for t in (k, v) for row in t[0]}
    (_, inputs, *_), = reader.read(out).tests
    caches = [t for t in leaves(inputs) if t.ndim == 3]
    known = sum(tuple(torch.tensor(row.copy()).tolist()) in rows for t in caches for row in t[0])
    assert len(caches) == 4 and known >= 8


def leaves(value):
    if hasattr(value, "data"):
        return [value.data]
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else []


def test_more_inputs_are_compared_and_not_kept(out):
    x = torch.rand(3)
    report = rushlight.export(nn.ReLU(), (x,), out, test_inputs=[torch.rand(3), (torch.rand(7),)])
    assert report.verified == 3 and report.test_vectors == 1 and "test_inputs adds real ones" not in str(report)
    assert "test_inputs adds real ones" in str(rushlight.export(nn.ReLU(), (x,), out))
    with pytest.raises(ValueError, match=r"test_inputs\[1\] must be the inputs of one call, got None"):
        rushlight.export(nn.ReLU(), (x,), out, test_inputs=[x, None])
    error = refused(lambda x: x * float(x[0]), (x,), out, test_inputs=[x + 1], test_vectors=False)
    assert error.code == "mismatch" and "rtol=0.0001 and atol=1e-05" in str(error)


# ---- Fewer bits


class Boxes(nn.Module):
    """Rounding decides the number of boxes."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.a, self.b = nn.Conv2d(3, 16, 3, 2, 1), nn.Conv2d(16, 5, 3, 2, 1)

    def forward(self, x):
        import torchvision
        y = self.b(torch.relu(self.a(x))).flatten(2)[0].T
        keep = y[:, 4] > 0.0
        boxes = torch.cat([y[:, :2], y[:, :2] + y[:, 2:4].abs() + .1], 1)[keep]
        k = torchvision.ops.nms(boxes, y[keep, 4], .5)
        return boxes[k], y[keep, 4][k]


@pytest.mark.parametrize("seed", range(6))
def test_a_detector_with_fewer_bits_has_other_boxes(seed, out):
    pytest.importorskip("torchvision")
    report = rushlight.export(Boxes(seed).eval(), (torch.randn(1, 3, 64, 64),), out, quantize="int8-static")
    rows = report.quantized["rows"]
    assert rows["matched"] > 0.5 * rows["pytorch"] > 0 and rows["matched"] <= min(rows["pytorch"], rows["rushlight"])
    assert report.quantized["cosine"] > 0.95 and f"{rows['rushlight']} where PyTorch gives {rows['pytorch']}" in str(report)


@pytest.mark.parametrize("bits", ["int8", "int8-static", "int8-weights", "int4", "int4-weights", "float16"])
def test_rows_are_matched_with_each_way_of_fewer_bits(bits, out):
    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.linear = nn.Linear(64, 64)

        def forward(self, x):
            y = self.linear(x)
            return {"all": y, "kept": y[y[:, 0] > 0], "values": torch.masked_select(y, y > 0.5)}

    report = rushlight.export(Kept(), (torch.randn(200, 64),), out, quantize=bits, test_vectors=False)
    rows = report.quantized["rows"]
    assert rows["pytorch"] > 100 and rows["matched"] <= rows["pytorch"] and report.quantized["cosine"] > 0.95


def test_what_was_not_measured_has_no_figure(out):
    report = rushlight.export(nn.Linear(512, 512), (torch.randn(4, 512),), out, quantize="int4", verify=False, test_vectors=False)
    assert [report.quantized[k] for k in ("max", "l2", "cosine")] == [None] * 3 and report.quantized["layers"] == 1
    assert "cosine" not in str(report)


# ---- The verdict


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.a, self.b = nn.RMSNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.b(torch.tanh(self.a(self.norm(x))))


@pytest.mark.parametrize("depth, gain", [(60, 8), (100, 12), (100, 20), (150, 20)])
def test_a_deep_network_in_bfloat16_is_as_near_as_pytorch(depth, gain, out):
    torch.manual_seed(0)
    net = nn.Sequential(*[Block(64) for _ in range(depth)], nn.RMSNorm(64), nn.Linear(64, 50)).eval()
    for block in net[:-2]:
        block.a.weight.data *= gain
        block.b.weight.data *= 3
    report = rushlight.export(net.bfloat16(), (torch.randn(20, 64).bfloat16(),), out)
    assert report.verified == 1


class Massive(nn.Module):
    """Like real language models, it has one activation far above all others, which makes the rounding steps of all elements large."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.ModuleList([nn.Linear(64, 64) for _ in range(4)])
        self.head = nn.Linear(64, 500)

    def forward(self, x):
        x = x + torch.nn.functional.one_hot(torch.tensor(3), 64) * 24000.
        for layer in self.body:
            x = x + layer(F.rms_norm(x, (64,)))
        return self.head(x - torch.nn.functional.one_hot(torch.tensor(3), 64) * 24000.)


def test_activations_far_above_the_answer_are_no_fault(out):
    for seed in range(4):
        torch.manual_seed(seed)
        assert rushlight.export(Massive().eval(), (torch.randn(5, 64),), out).verified == 1
        rushlight.load(out).verify()


# ---- The report of a large model


def test_names_that_differ_by_numbers_are_one(out):
    class Many(nn.Module):
        def __init__(self):
            super().__init__()
            for i in range(30):
                self.register_buffer(f"key_{i}", torch.zeros(2))

        def forward(self, x):
            for i in range(30):
                getattr(self, f"key_{i}").add_(x)
            return self.key_3 + self.key_29

    report = rushlight.export(Many(), (torch.rand(2),), out)
    assert len(report.state) == 30 and f"  state     {report.state[0]} ... {report.state[-1]} (30)\n" in str(report)


def test_a_tracers_warning_stands_once_with_its_lines(out):
    class Twice(nn.Module):
        def forward(self, x):
            if x.sum() > -1:
                x = x * 2
            if x.mean() > -1:
                x = x + 1
            return x

    text = str(rushlight.export(Twice(), (torch.rand(3),), out))
    line, = [line for line in text.splitlines() if "Converting a tensor to a Python boolean" in line]
    assert len(re.findall(r"test_verification\.py:\d+", line)) == 2


# ---- Multiples


class Even(nn.Module):
    """Like a U-Net, it needs even sizes, because its Python code treats odd ones differently."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(11, 3, 3, 1, 1)

    def forward(self, x):
        y = self.a(x)
        y = F.interpolate(y, size=x.shape[2:]) if x.shape[2] % 2 or x.shape[3] % 2 else F.interpolate(y, scale_factor=2.0)
        return self.b(torch.cat([y, x], 1))


H = Dim("h", min=2, max=64)


def test_a_constraint_can_ask_for_a_multiple(out):
    x = torch.randn(1, 3, 16, 16)
    report = rushlight.export(Even().eval(), (x,), out, dynamic_shapes={"x": {2: 2 * H}})
    assert report.verified_sizes == ["x [1, 3, 18, 16]", "x [1, 3, 32, 16]", "x [1, 3, 4, 16]"]
    run = rushlight.load(out)
    assert run(torch.randn(1, 3, 128, 16)).shape[2] == 128
    for size, says in ((17, 'size 2 of input "x" must be a multiple of 2, got 17'), (130, "must be at most 128"), (2, "at least 4")):
        with pytest.raises(rushlight.RushlightError, match=says):
            run(torch.randn(1, 3, size, 16))


def test_a_refused_size_says_to_leave_it_out(out):
    error = refused(Even().eval(), (torch.randn(1, 3, 16, 16),), out, dynamic_shapes={"x": {2: "h"}})
    assert "A size that dynamic_shapes leaves out stays as " in str(error)
    with pytest.raises(ValueError, match=r"must be a multiple of another one, got 2\*h \+ 1 of the input 'x': leave it out"):
        rushlight.export(Even().eval(), (torch.randn(1, 3, 17, 16),), out, dynamic_shapes={"x": {2: 2 * H + 1}})


def test_a_multiple_follows_the_name(out):
    report = rushlight.export(lambda x, y: x.view(2, -1) * y, (torch.rand(8), torch.rand(4)), out, dynamic_shapes=({0: 2 * Dim("n")}, {0: "n"}))
    assert report.verified_sizes[:2] == ["x [10], y [5]", "x [16], y [8]"] and "x [2], y [1]" in report.verified_sizes


def test_multiples_of_a_program_are_tried(out):
    n = Dim("n", min=2, max=20)
    program = torch.export.export(Even().eval(), (torch.randn(1, 3, 16, 16),), dynamic_shapes={"x": {2: 2 * n}})
    report = rushlight.export(program, None, out)
    assert "x [1, 3, 18, 16]" in report.verified_sizes


# ---- Sizes that Python converted to numbers


class Depth(nn.Module):
    """As in Depth-Anything, int() in the model's Python code fixes a size."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 14, 14)

    def forward(self, x):
        h, w = x.shape[2] // 14, x.shape[3] // 14
        return F.interpolate(self.conv(x), (int(h * 14), int(w * 14)), mode="bilinear", align_corners=True)


class Whole14(Depth):
    def forward(self, x):
        h, w = x.shape[2] // 14, x.shape[3] // 14
        return F.interpolate(self.conv(x), (h * 14, w * 14), mode="bilinear", align_corners=True)


PICTURE = torch.rand(1, 3, 84, 98)
LINE = Depth.forward.__code__.co_firstlineno + 2


@pytest.mark.parametrize("program", [False, True])
def test_a_size_that_int_fixed_is_refused_with_its_line(program, out):
    sizes = {2: 14 * Dim("h", min=2, max=50), 3: 14 * Dim("w", min=2, max=50)}
    model = torch.export.export(Depth(), (PICTURE,), dynamic_shapes={"x": sizes}, strict=False) if program else Depth().eval()
    error = refused(model, (PICTURE,), out, dynamic_shapes=None if program else {"x": sizes})
    assert f"test_verification.py:{LINE}: " in str(error) and "h // 14 * 14 in place of int(h / 14) * 14" in str(error), error
    right = torch.export.export(Whole14(), (PICTURE,), dynamic_shapes={"x": sizes}, strict=False) if program else Whole14().eval()
    report = rushlight.export(right, (PICTURE,), out, dynamic_shapes=None if program else {"x": sizes})
    assert "x [1, 3, 98, 112]" in report.verified_sizes
    assert rushlight.load(out)(torch.rand(1, 3, 112, 70)).shape == (1, 4, 112, 70)
