"""Recurrent layers and cells. Rows run the modules of torch.nn unchanged, traced and scripted."""
from conformance import *

HEAD = """class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = {net}
    def forward(self, x{more}: Tensor):
        return self.net(x{given})"""


def module(name, net, x, h=None, trace=False, **options):
    more, given = ("", "") if h is None else (": Tensor, h", ", h")
    row(name + ("_traced" if trace else ""), HEAD.format(net=net, more=more, given=given), trace=trace, x=x,
        **({} if h is None else {"h": h}), **options)


for kind in ("LSTM", "GRU", "RNN"):
    for label, options, x in [
            ("plain", "5, 7", f32(4, 3, 5)), ("batch_first", "5, 17, batch_first=True", f32(3, 4, 5)),
            ("layers", "5, 6, num_layers=3", f32(6, 2, 5)), ("both_ways", "5, 6, num_layers=2, bidirectional=True", f32(3, 2, 5)),
            ("without_bias", "5, 6, bias=False", f32(3, 2, 5)), ("one_by_one", "1, 1", f32(2, 1, 1)),
            ("wide", "33, 65, batch_first=True, bidirectional=True", f32(9, 5, 33)), ("one_step", "5, 8", f32(1, 1, 5)),
            ("empty_batch", "5, 8", f32(3, 0, 5)), ("unbatched", "5, 8", f32(3, 5))]:
        for trace in (False, True):
            module(f"{kind.lower()}_{label}", f"torch.nn.{kind}({options})", x, trace=trace)
    module(f"{kind.lower()}_strided", f"torch.nn.{kind}(5, 7)", noncontig(f32(4, 3, 5)), also=[{"x": permuted(f32(3, 4, 5), 1, 0, 2)}, {"x": f32(9, 20, 5)}])
    module(f"{kind.lower()}_f64", f"torch.nn.{kind}(5, 7, 2, bidirectional=True).double()", f64(4, 3, 5))
    module(f"{kind.lower()}_wrong_width", f"torch.nn.{kind}(5, 7)", f32(4, 3, 6), raises="")
    row(f"{kind.lower()}_trained", HEAD.format(net=f"torch.nn.{kind}(5, 7, 3, dropout=0.4)", more="", given="").replace(
        "return self", "self.net.train()\n        return self"), x=f32(4, 3, 5), trace=True)
module("rnn_relu", "torch.nn.RNN(5, 7, nonlinearity='relu', num_layers=2)", f32(4, 3, 5))
module("gru_given_state", "torch.nn.GRU(5, 7, 2)", f32(4, 3, 5), f32(2, 3, 7))
module("gru_wrong_state", "torch.nn.GRU(5, 7, 2)", f32(4, 3, 5), f32(2, 4, 7), raises="")
for label, options, layers in (("", "5, 7, proj_size=4", 1), ("_both_ways", "5, 7, 2, bidirectional=True, proj_size=3", 4)):
    module(f"lstm_projected{label}", f"torch.nn.LSTM({options})", f32(4, 3, 5))
    module(f"lstm_projected{label}_without_bias", f"torch.nn.LSTM({options}, bias=False)", f32(4, 3, 5))
for label, backwards, bias in (("", False, True), ("_backwards", True, True), ("_without_bias", False, False)):
    row(f"mkldnn_rnn_layer{label}", f"""
    y, h, c, _ = torch.ops.aten.mkldnn_rnn_layer(x, w, v, b, b, h, h, {backwards}, [], 2, 5, 1, {bias}, False, False, False)
    return y, h, c""", x=f32(2, 3, 4), w=f32(20, 4), v=f32(20, 5), b=f32(20) if bias else f32(20, lo=0, hi=0), h=f32(1, 3, 5))
row("lstm_given_state", """class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.LSTM(5, 7, 2)
    def forward(self, x, h, c):
        y, (h2, c2) = self.net(x, (h, c))
        return y, h2, c2, h, c""", x=f32(4, 3, 5), h=f32(2, 3, 7), c=f32(2, 3, 7), also=[{"h": special(2, 3, 7)}, {"x": special(4, 3, 5)}])

PACKED = """class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.{net}
    def forward(self, data, sizes{more}):
        return torch._VF.{op}(data, sizes, {hx}, [p for p in self.net._flat_weights], True, 2, 0.0, False, True)"""
ROWS_IN_STEPS = tensor([3, 3, 2, 1], "i64")
for op in ("lstm", "gru", "rnn_tanh"):
    net, more, hx = {"lstm": ("LSTM", ", h, c", "(h, c)"), "gru": ("GRU", ", h", "h"), "rnn_tanh": ("RNN", ", h", "h")}[op]
    states = {k: f32(4, 3, 6) for k in more.replace(",", "").split()}
    row(f"{op}_packed", PACKED.format(net=f"{net}(5, 6, 2, bidirectional=True)", more=more, op=op, hx=hx), trace=True,
        data=f32(9, 5), sizes=ROWS_IN_STEPS, also=[{"sizes": tensor([3, 1, 1, 1, 1, 1, 1], "i64")}, {"sizes": tensor([3, 3, 3], "i64")}], **states)

for cell in ("LSTMCell", "GRUCell", "RNNCell"):
    name = cell.lower()
    for trace in (False, True):
        module(name, f"torch.nn.{cell}(5, 7)", f32(3, 5), trace=trace, also=[{"x": f32(1, 5)}, {"x": noncontig(f32(4, 5))}])
    module(f"{name}_without_bias", f"torch.nn.{cell}(5, 7, bias=False)", f32(3, 5))
    module(f"{name}_f64", f"torch.nn.{cell}(5, 17).double()", f64(3, 5))
    module(f"{name}_unbatched", f"torch.nn.{cell}(5, 7)", f32(5))
module("grucell_given_state", "torch.nn.GRUCell(5, 7)", f32(3, 5), f32(3, 7))
module("rnncell_relu", "torch.nn.RNNCell(5, 7, nonlinearity='relu')", f32(3, 5), f32(3, 7))
row("lstmcell_loop", """class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(5, 8)
    def forward(self, xs):
        h, c = torch.zeros(2, 8), torch.zeros(2, 8)
        for i in range(xs.size(0)):
            h, c = self.cell(xs[i], (h, c))
        return h, c""", xs=f32(4, 2, 5), also=[{"xs": f32(0, 2, 5)}, {"xs": f32(11, 2, 5)}])
row("lstmcell_raw", "torch.lstm_cell(x, [h, c], w, v, a, b)", x=f32(3, 5), h=f32(3, 4), c=f32(3, 4), w=f32(16, 5), v=f32(16, 4), a=f32(16), b=f32(16))
row("grucell_raw_wrong", "torch.gru_cell(x, h, w, v)", x=f32(3, 5), h=f32(3, 4), w=f32(12, 4), v=f32(12, 4), raises="")

# ---- Packed sequences --------------------------------------------------------------------------

LENGTHS = tensor([5, 3, 3, 1], "i64")
row("pack_padded", "torch._pack_padded_sequence(x, n, b)", x=f32(5, 4, 3), n=LENGTHS, b=False,
    also=[{"x": noncontig(f32(5, 4, 3))}, {"x": f32(4, 6, 3), "b": True}, {"x": i64(5, 4)}, {"x": f32(5, 4, 2, 3)}])
for name, lengths, text in (("unsorted", [1, 3], "sorted in decreasing order"), ("of_zero", [3, 0], "greater than 0"), ("too_few", [3], "batch_size")):
    row(f"pack_padded_{name}", "torch._pack_padded_sequence(x, n, False)", x=f32(5, 2, 3), n=tensor(lengths, "i64"), raises=text)
row("pad_packed", "torch._pad_packed_sequence(x, n, b, v, t)", x=f32(7, 3), n=tensor([4, 2, 1], "i64"), b=False, v=-1.0, t=0,
    also=[{"b": True}, {"t": 6}, {"v": 0.0, "x": transposed(f32(7, 3))}, {"x": f32(7)}, {"x": f32(7, 2, 3), "b": True}])
row("pad_packed_too_short", "torch._pad_packed_sequence(x, n, False, 0, 2)", x=f32(7, 3), n=tensor([4, 2, 1], "i64"), raises="total_length")
for net in ("LSTM", "GRU"):
    row(f"{net.lower()}_of_packed", f"""from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.{net}(3, 4, 2, bidirectional=True, batch_first=True)
    def forward(self, x, n):
        y, h = self.net(pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False))
        padded, lengths = pad_packed_sequence(y, batch_first=True)
        return padded, lengths, h""", trace=True, x=f32(3, 6, 3), n=tensor([2, 6, 4], "i64"), also=[{"n": tensor([6, 6, 6], "i64")}, {"n": tensor([6, 1, 2], "i64")}])

# A trace with a batch gives an unbatched input of two dimensions. It is one sequence for all rows of the state.
for name, cell, gates, state in [("rnn_tanh", "torch.rnn_tanh", 1, "h"), ("rnn_relu", "torch.rnn_relu", 1, "h"), ("lstm", "torch.lstm", 4, "[h, h]")]:
    for layers, first in ((1, False), (2, False), (1, True)):
        weights = "[w, v, b, b]" if layers == 1 else "[w, v, b, b, v, v, b, b]"
        row(f"{name}_of_two_dimensions_{layers}{'_batch_first' if first else ''}", f"{cell}(x, {state}, {weights}, True, {layers}, 0.0, False, False, {first})", x=f32(5, 4), h=f32(layers, 3, 4),
            w=weight(f32(gates * 4, 5 if first else 4)), v=weight(f32(gates * 4, 4)), b=weight(f32(gates * 4)))
row("gru_of_two_dimensions", "torch.gru(x, h, [w, w, b, b], True, 1, 0.0, False, False, False)", x=f32(5, 4), h=f32(1, 3, 4), w=f32(12, 4), b=f32(12), raises="")
