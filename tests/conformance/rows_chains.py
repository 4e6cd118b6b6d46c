"""Consecutive pointwise operators, which the runtime runs in one loop (rush::chain). The rows test which operators can be in a
chain, which ones end it, and how a chain runs again with other sizes, layouts, dtypes and numbers."""
from conformance import *

HALF_OPEN = "torch.where(x > y, x * y + 1, torch.relu(x) - 0.5 * y)"
row("chain_flat", HALF_OPEN, x=f32(3, 700), y=f32(3, 700), also=[{"x": f32(64), "y": f32(64)}, {"x": f32(), "y": f32()}])
row("chain_large", f"({HALF_OPEN}).sigmoid() * x", x=f32(4, 40, 50), y=f32(4, 40, 50))
row("chain_of_nothing", HALF_OPEN, x=f32(0, 3), y=f32(0, 3))
row("chain_broadcast", HALF_OPEN, x=f32(2, 3, 40, 5), y=f32(3, 1, 1),
    also=[{"x": f32(2, 3, 40, 5), "y": f32(5)}, {"x": f32(2, 3, 40, 5), "y": f32(1)}, {"x": f32(2, 3, 4, 50), "y": f32(2, 1, 4, 1)},
          {"x": f32(60), "y": f32(30, 1)}, {"x": f32(1, 1, 60), "y": f32(2, 30, 1)}])
row("chain_strided", HALF_OPEN, x=transposed(f32(30, 40)), y=f32(30, 40),
    also=[{"x": transposed(f32(30, 40)), "y": transposed(f32(30, 40))}, {"x": channels_last(f32(2, 3, 9, 9)), "y": f32(2, 3, 9, 9)},
          {"x": channels_last(f32(2, 3, 9, 9)), "y": channels_last(f32(2, 3, 9, 9))}])
row("chain_of_slices", "(x[:, ::2] * y[1:, :10] + x[:, 1::2]).tanh()", x=f32(20, 20), y=f32(21, 11))
row("chain_expanded", "(x.expand(50, 30) * y + x).abs() - x", x=f32(30), y=f32(50, 30), also=[{"x": f32(50, 1), "y": f32(50, 30)}])
row("chain_of_convolutions", """
    y = F.conv2d(x, w, padding=1)
    z = F.conv2d(x, w.flip([0]), padding=1)
    a = y * torch.sigmoid(y) + z
    b = a / (a.abs() + 1) * b.view(1, -1, 1, 1)
    return a, b, a.stride(), b.stride()""", x=f32(2, 3, 12, 12), w=f32(8, 3, 3, 3), b=f32(8), also=[{"x": f32(1, 3, 1, 1), "w": f32(1, 3, 3, 3), "b": f32(1)}], atol=1e-5,
    why="convolutions sum in another order, and their sums are multiplied: up to 1.1 times the default was measured")

for d in ALL + HALVES:
    row(f"chain_{d}", "x * y + x - (x * y).abs()", x=random(d, 5, 9), y=random(d, 5, 9)) if d != "b8" else row(
        "chain_b8", "((x & y) | ~x) ^ y", x=b8(5, 9), y=b8(5, 9))
row("chain_complex", "(x * y + x).conj().abs() * 2 + x.real", x=random("c64", 5, 9), y=random("c64", 5, 9))
row("chain_of_dtypes", "(x > 0).logical_and(n > 0).logical_not(), (x * d).exp() + n, (x + n).relu() * 2, (n * 2 - 1).float() * x",
    x=f32(5, 9), d=f64(5, 9), n=i64(5, 9))
row("chain_with_0d", "x * d + n - h + (d * n)", x=f32(5, 9), d=f64(), n=i64(), h=random("f16"), also=[{"x": f32(), "d": f64(), "n": i64(), "h": random("f16")}])
row("chain_by_zero", "(x * 2 - 1) // (x - x) + 1", x=i64(5), raises="ZeroDivisionError")
row("chain_by_zero_f32", "(x * 2 - 1) // (x - x) + 1", x=f32(5))
row("chain_wrong_sizes", "(x * 2 - 1).tanh() + y", x=f32(5), y=f32(4), raises="must match the size of tensor b")

# These rows exceed the number of live values, of operators and of extra operands that one chain can have.
row("chain_of_many_values", "\n" + "".join(f"    v{i} = torch.sin(x + {i})\n" for i in range(30)) + "    return "
    + " + ".join(f"v{i} * v{29 - i}" for i in range(30)), x=f32(700))
row("chain_of_many_operators", "\n    v = x\n" + "".join("    v = v * 0.75 + x\n" for _ in range(80)) + "    return v", x=f32(3, 50))
row("chain_of_many_rows", "x" + "".join(f" * y[{i}] + y[{i}].sin()" for i in range(10)), x=f32(6, 40), y=f32(10, 40))
row("chain_of_columns", "x" + "".join(f" * y[:, {i}:{i + 1}]" for i in range(9)), x=f32(40, 60), y=f32(40, 9))

# Some values of a chain are results, and others are overwritten in place.
row("chain_results", """
    a = x * 2
    b = a + 1
    c = b.tanh()
    d = a - c
    return a, d, x""", x=f32(40, 50))
row("chain_of_its_own", """
    a = torch.exp(x)
    b = a * a
    c = b + x
    d = torch.sin(c)
    return d + a""", x=f32(40, 50))
row("chain_beside_views", """
    y = x * 1
    v = y[0]
    z = (y + 1) * 2
    v.add_(5)
    return y, z, (y - 1) * v""", x=f32(4, 50))

# The same chain runs again with other sizes, dtypes and numbers, with swapped tensors, and with one tensor under two names.
row("chain_again_sizes", """
    out: List[Tensor] = []
    for k in [40, 40, 3, 1, 40, 0, 2]:
        y = x[:k]
        out.append((y * w + y).tanh() - w)
    return out""", x=f32(40, 5), w=f32(5))
row("chain_again_numbers", """
    y = x
    for k in range(12):
        y = (y * (0.1 * (k // 2)) + 1.0 / (k // 3 + 1)).sin() + 0.1 * float(y[0])
    return y""", x=f32(40))
row("chain_again_elements", """
    s = torch.ones([])
    y = x
    for k in range(5):
        y = (y * s + 0.5).tanh()
        s = s + y[0]
    return y, s""", x=f32(40))
row("chain_again_dtypes", """
    out: List[Tensor] = []
    l: List[Tensor] = [x, x.double(), (x * 9).to(torch.int64), x.half(), x, x > 0, x.double()]
    for y in l:
        z = y * 2 + y
        out.append(z - x * 3)
    return out""", x=f32(40))
row("chain_again_places", """
    a, b = x, y
    out: List[Tensor] = []
    for k in range(6):
        c = (a - b).tanh() * 0.5 + a
        out.append(c)
        a, b = b, c
        if k == 2:
            b = a
    return out""", x=f32(40), y=f32(40))
row("chain_again_branches", """
    a = x
    for k in range(6):
        if k % 2 == 0:
            a = (a * 2 - 1).abs()
        else:
            a = (a + k).sin() * a
    return a""", x=f32(4, 5))
row("chain_that_never_is", """
    y = x
    for k in range(20):
        y = (y * n).relu() + y - 0.5 * y
    return y""", x=f32(40), n=i64(40, lo=0, hi=1))
