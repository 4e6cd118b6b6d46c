"""Attributes that a program extends with cat (rush::grow). A program must not see the shared buffer.

The joined tensor and the old one stay independent, even if either of them is kept, extended again,
read as a view or written in place."""
from conformance import *

GROWS = """
class M(torch.nn.Module):
    kept: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer("k", {start})
        self.kept = None

    def forward(self, {arguments}):
        outs: List[Tensor] = []
        {body}
        return outs
"""


def grows(name, body, start="torch.zeros(1, 2, 0, 4)", **inputs):
    lines = "\n".join("        " + line for line in body.strip("\n").split("\n"))
    row(name, GROWS.format(start=start, arguments=", ".join(inputs), body=lines.strip()), **inputs)


SUMS = """
for i in range(x.size({at})):
    self.k = torch.cat([self.k, x.narrow({at}, i, 1)], {dim})
    k = self.k
    outs.append(k.transpose(0, 1) * 2)
    outs.append(k.sum({at}))
    outs.append(torch.tensor(k.stride() + k.size()))
    outs.append(k.view(-1)[3:].clone())
"""
for dim in range(4):
    sizes = [2, 3, 4, 5]
    start = [0 if d == dim else n for d, n in enumerate(sizes)]
    grows(f"grow_along_{dim}", SUMS.format(at=dim, dim=dim - 4 if dim % 2 else dim), f"torch.zeros({start})", x=f32(*sizes))
for name, kind in {"f64": "float64", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i8": "int8", "b8": "bool", "c64": "complex64"}.items():
    grows(f"grow_{name}", """
for i in range(7):
    self.k = torch.cat([self.k, x], 1)
    outs.append(self.k[:, 1:])
    outs.append(torch.stack([self.k, self.k], 2))
""", f"torch.zeros(2, 0, 3, dtype=torch.{kind})", x=random(name, 2, 1, 3))
grows("grow_attention", """
for i in range(x.size(1)):
    q = x[:, i:i + 1].unflatten(-1, [2, 4]).transpose(1, 2)
    self.k = torch.cat([self.k, q * 0.5], 2)
    outs.append(F.scaled_dot_product_attention(q, self.k, self.k))
    outs.append(torch.softmax(torch.matmul(q, self.k.transpose(-2, -1)), -1) @ self.k)
    outs.append(torch.bmm(q.flatten(0, 1), self.k.flatten(0, 1).transpose(1, 2)))
""", x=f32(1, 6, 8))
grows("grow_pieces", """
for n in [3, 1, 0, 2, 9, 1]:
    self.k = torch.cat([self.k, x[:, :, :n], x[:, :, n:n + 1] + 1], 2)
    outs.append(self.k.clone())
outs.append(self.k[:, 1, 2:].contiguous())
""", x=f32(1, 2, 12, 4))
grows("grow_from_other_dtypes", """
for i in range(3):
    self.k = torch.cat([self.k, x], 2)
    outs.append(self.k + 0)
    self.k = torch.cat([self.k, y], 2)
    outs.append(self.k + 0)
""", x=i64(1, 2, 1, 4), y=f64(1, 2, 2, 4))
grows("grow_from_nothing", """
for i in range(4):
    k = self.kept
    if k is None:
        self.kept = x
    else:
        self.kept = torch.cat([k, x], 1)
    last = self.kept
    assert last is not None
    outs.append(last.sum(0))
""", "torch.zeros(1)", x=f32(2, 3))
grows("grow_from_a_flat_one", """
for i in range(4):
    self.k = torch.cat([self.k, x])
    outs.append(self.k * 1)
self.k = self.k[:0]
self.k = torch.cat([self.k, x])
outs.append(self.k.mean(0))
""", "torch.zeros(0)", x=f32(1, 3))
grows("grow_older_ones_stay", """
older: List[Tensor] = []
for i in range(6):
    older.append(self.k)
    self.k = torch.cat([self.k, x + i], 2)
for k in older:
    outs.append(k.clone())
    outs.append(k.reshape(-1).cumsum(0))
""", x=f32(1, 2, 1, 4))
grows("grow_two_of_one", """
for i in range(4):
    k = self.k
    self.kept = torch.cat([k, x + i], 2)
    self.k = torch.cat([k, x - i], 2)
    other = self.kept
    assert other is not None
    outs.append(other - self.k)
    outs.append(self.k.clone())
""", x=f32(1, 2, 1, 4))
grows("grow_itself", """
for i in range(4):
    self.k = torch.cat([self.k, x, self.k], 2)
    outs.append(self.k.amax(2))
self.k = torch.cat([self.k, self.k[:, :, 1:3]], 2)
outs.append(self.k.clone())
""", x=f32(1, 2, 1, 4))
grows("grow_then_write_the_older", """
for i in range(5):
    old = self.k
    self.k = torch.cat([self.k, x + i], 2)
    old.add_(1)
    outs.append(old.clone())
    outs.append(self.k * 1)
""", x=f32(1, 2, 1, 4))
grows("grow_then_write_a_part_of_the_older", """
part = self.k
for i in range(5):
    if i > 0:
        part = self.k[:, :, 0]
    self.k = torch.cat([self.k, x + i], 2)
    part.mul_(3)
    outs.append(part.clone())
    outs.append(self.k * 1)
""", x=f32(1, 2, 1, 4))
grows("grow_then_write_the_newer", """
for i in range(5):
    old = self.k
    self.k = torch.cat([self.k, x + i], 2)
    if i > 1:
        self.k[:, :, 0] = 7
        self.k.relu_()
        torch.add(x[0, 0, 0, 0], 1, out=old[0, 0, 0, 0])
    outs.append(old.clone())
    outs.append(self.k * 1)
""", x=f32(1, 2, 1, 4))
grows("grow_then_resize", """
for i in range(5):
    self.k = torch.cat([self.k, x + i], 2)
old = self.k
self.k = torch.cat([self.k, x], 2)
old.resize_(2, 3)
outs.append(old.clone())
outs.append(self.k * 1)
""", x=f32(1, 2, 1, 4))
grows("grow_channels_last", """
for i in range(4):
    self.k = torch.cat([self.k, x + i])
    outs.append(self.k * 2)
    outs.append(torch.tensor(self.k.stride()))
""", "torch.zeros(1, 3, 4, 5).to(memory_format=torch.channels_last)", x=channels_last(f32(1, 3, 4, 5)))
grows("grow_by_a_convolution", """
for i in range(4):
    self.k = torch.cat([self.k, F.conv2d(x, w) + i], 2)
    outs.append(F.conv2d(self.k, w))
    outs.append(torch.tensor(self.k.stride()))
""", "torch.zeros(1, 3, 0, 5)", x=f32(1, 3, 2, 5), w=f32(3, 3, 1, 1))
grows("grow_sums_of_pointwise", """
for i in range(4):
    self.k = torch.cat([self.k, x], 2)
    y = (self.k * 2 + 1).tanh() - self.k
    outs.append(y)
    outs.append(F.layer_norm(self.k, [4]) + F.softmax(self.k, 2))
""", x=f32(1, 2, 3, 4))
row("grow_wrong_sizes", GROWS.format(start="torch.zeros(1, 2, 0, 4)", arguments="x, y", body="""for i in range(3):
            self.k = torch.cat([self.k, x], 2)
        self.k = torch.cat([self.k, y], 2)
        outs.append(self.k + 0)"""), x=f32(1, 2, 1, 4), y=f32(1, 3, 1, 4), raises="Sizes of tensors must match")
