"""Matrix products and einsum."""
from conformance import *

NUMBERS = ("f32", "f64", "i64", "i32", "u8")


def pair(dtype, a, b, lay=lambda x: x):
    return dict(x=lay(random(dtype, *a)), y=lay(random(dtype, *b)))


# All combinations of ranks, with broadcast batches, empty batches and vectors.
SHAPES = {
    "vector_vector": ((7,), (7,)), "vector_matrix": ((5,), (5, 3)), "matrix_vector": ((3, 5), (5,)),
    "matrix_matrix": ((3, 5), (5, 17)), "row_times_matrix": ((1, 9), (9, 33)), "column_out": ((9, 5), (5, 1)),
    "batch_vector": ((2, 3, 4), (4,)), "vector_batch": ((4,), (2, 4, 3)), "batch_matrix": ((2, 3, 4), (4, 9)),
    "matrix_batch": ((3, 4), (2, 4, 5)), "batch_batch": ((3, 4, 5), (3, 5, 2)), "broadcast_left": ((1, 4, 5), (3, 5, 2)),
    "broadcast_both": ((2, 1, 4, 5), (3, 5, 2)), "deep": ((2, 1, 2, 3, 4), (1, 3, 2, 4, 2)),
    "no_rows": ((0, 5), (5, 3)), "no_depth": ((4, 0), (0, 3)), "no_columns": ((4, 5), (5, 0)),
    "no_batch": ((0, 4, 5), (0, 5, 3)), "one": ((1, 1), (1, 1)), "tall": ((13, 3), (3, 2)), "wide": ((2, 3), (3, 41)),
}
for name, (a, b) in SHAPES.items():
    for dtype in NUMBERS if "batch" not in name else ("f32", "i64"):
        row(f"matmul_{name}_{dtype}", "torch.matmul(x, y)", **pair(dtype, a, b))
    row(f"matmul_{name}_transposed", "x @ y", **pair("f32", a, b, transposed))
    row(f"matmul_{name}_noncontig", "x @ y", **pair("f32", a, b, noncontig))
    row(f"matmul_{name}_constant", "x @ y", x=f32(*a), y=weight(f32(*b)), also=[{"x": transposed(f32(*a))}])
row("matmul_expanded", "x @ y", x=expanded(f32(1, 3, 4), 2, 3, 4), y=expanded(f32(1, 4, 2), 2, 4, 2))
row("matmul_heads", "x.view(2, 5, 3, 4).transpose(1, 2) @ y.view(2, 6, 3, 4).permute(0, 2, 3, 1)", x=f32(2, 5, 12), y=f32(2, 6, 12))
ODD = tensor([[1.5, NAN, 0.0, -1.0], [INF, 1.0, -0.0, 2.0], [-INF, 0.5, 1.0, -3.0], [1.0, 2.0, 3.0, -4.0], [0.25, -INF, 2.0, 1.0]])
row("matmul_special", "x @ y", x=ODD, y=f32(4, 9))
row("matmul_large_depth", "x @ y", x=f32(5, 3000), y=weight(f32(3000, 33)), atol=1e-4,
    why="sums of 3,000 products in another order: 2e-4 of answers up to 200 was measured")
row("matmul_one_row_large", "x @ y", x=f32(1, 700), y=weight(f32(700, 300)), atol=1e-4,
    why="sums of 700 products in another order: 9e-5 of answers up to 100 was measured")

for dtype in NUMBERS:
    row(f"mm_{dtype}", "torch.mm(x, y)", **pair(dtype, (4, 5), (5, 6)))
    row(f"bmm_{dtype}", "torch.bmm(x, y)", **pair(dtype, (3, 4, 5), (3, 5, 6)))
    row(f"mv_{dtype}", "torch.mv(x, y)", **pair(dtype, (4, 5), (5,)))
    row(f"dot_{dtype}", "torch.dot(x, y)", **pair(dtype, (17,), (17,)))
    row(f"outer_{dtype}", "torch.outer(x, y)", **pair(dtype, (4,), (5,)))
    row(f"addmm_{dtype}", "torch.addmm(z, x, y, beta=2, alpha=3)", z=random(dtype, 6), **pair(dtype, (4, 5), (5, 6)))
    row(f"baddbmm_{dtype}", "torch.baddbmm(z, x, y, beta=2, alpha=3)", z=random(dtype, 4, 6), **pair(dtype, (3, 4, 5), (3, 5, 6)))
    row(f"addbmm_{dtype}", "torch.addbmm(z, x, y, beta=2)", z=random(dtype, 4, 6), **pair(dtype, (3, 4, 5), (3, 5, 6)))
    row(f"addmv_{dtype}", "torch.addmv(z, x, y, alpha=2)", z=random(dtype, 4), **pair(dtype, (4, 5), (5,)))
    row(f"addr_{dtype}", "torch.addr(z, x, y, beta=3)", z=random(dtype, 4, 5), **pair(dtype, (4,), (5,)))
    row(f"linear_{dtype}", "F.linear(x, w, b)", x=random(dtype, 3, 5), w=random(dtype, 4, 5), b=random(dtype, 4))
row("outer_promotes", "torch.outer(x, y)", x=i64(3), y=f32(4))
row("outer_bool", "torch.outer(x, y)", x=b8(3), y=b8(4))
row("addr_beta_0_ignores_nan", "torch.addr(z, x, y, beta=0)", z=tensor([[NAN] * 4] * 3), x=f32(3), y=f32(4))
row("addr_beta_and_nan", "torch.addr(z, x, y, beta=0.5, alpha=2)", z=tensor([[NAN, INF, -INF], [0.0, -0.0, 1.0]]), x=tensor([NAN, 1.0]), y=tensor([INF, 0.0, -1.0]))
row("addr_alpha_0_keeps_nan", "torch.addr(z, x, y, beta=2, alpha=0), torch.addr(z, x, y, beta=0, alpha=0)", z=f32(3, 3), x=tensor([NAN, 1.0, INF]), y=tensor([INF, 0.0, -1.0]))
row("addr_beta_in_place", "z.addr_(x, y, beta=0.5, alpha=-3)", z=f32(3, 4), x=f32(3), y=f32(4), mutates=True)
row("addr_broadcast", "torch.addr(z, x, y, beta=2), torch.addr(x[0], x, y)", z=f32(4), x=noncontig(f32(3)), y=noncontig(f32(4)))
row("addr_beta_beyond_ints", "torch.addr(z, x, y, beta=1e300, alpha=-1e300)", z=f64(3, 4), x=f64(3), y=f64(4))
row("addr_of_bools", "torch.addr(z, x, y), torch.addr(z, x, y, beta=0), torch.addr(z, x, y, beta=False), torch.addr(z, x, y, alpha=0)", z=b8(4, 3), x=b8(4), y=b8(3))
row("addr_promotes", "torch.addr(z, x, y, beta=2, alpha=3)", z=i64(3, 4), x=f32(3), y=i64(4))
row("addmm_in_place", "z.addmm_(x, y, beta=0.5)", z=f32(4, 6), x=f32(4, 5), y=f32(5, 6), mutates=True)
row("baddbmm_in_place", "z[1:].baddbmm_(x, y)", z=f32(3, 4, 6), x=f32(2, 4, 5), y=f32(2, 5, 6), mutates=True)
row("addmm_beta_0_ignores_nan", "torch.addmm(z, x, y, beta=0)", z=tensor([NAN, INF, -INF, 0.0, -0.0, 1.0]), x=f32(4, 5), y=f32(5, 6))
row("addmm_no_depth", "torch.addmm(z, x, y)", z=f32(6), x=f32(4, 0), y=f32(0, 6))
row("addmm_constant", "torch.addmm(b, x, w)", x=f32(4, 5), w=weight(transposed(f32(5, 6))), b=weight(f32(6)), also=[{"x": f32(1, 5)}])

for name, message, body, x, y in [
    ("mm_shapes", "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", "torch.mm(x, y)", (2, 3), (4, 5)),
    ("mm_rank", "must be a matrix", "torch.mm(x, y)", (2, 3, 1), (4, 5)),
    ("bmm_shapes", "batch2 tensor to be", "torch.bmm(x, y)", (2, 3, 4), (3, 4, 5)),
    ("matmul_shapes", "cannot be multiplied", "x @ y", (2, 3, 4), (5, 5)),
    ("matmul_batches", "must match the size of tensor b", "x @ y", (2, 3, 4), (3, 4, 5)),
    ("dot_sizes", "inconsistent tensor size", "torch.dot(x, y)", (2,), (3,)),
    ("mv_sizes", "size mismatch", "torch.mv(x, y)", (2, 3), (4,)),
    ("linear_features", "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", "F.linear(x, y)", (2, 3), (5, 4)),
]:
    row(f"matmul_refuses_{name}", body, x=f32(*x), y=f32(*y), raises=message)
row("matmul_refuses_mixed_dtypes", "x @ y", x=f32(2, 3), y=f64(3, 2), raises="same dtype")
row("matmul_refuses_bool", "x @ y", x=b8(2, 3), y=b8(3, 2), raises="not implemented for 'Bool'")

# ---- einsum --------------------------------------------------------------------------------------

PAIRS = {
    "matmul": ("ij,jk->ik", f32(3, 4), f32(4, 5)), "implicit": ("ij,jk", f32(3, 4), f32(4, 5)), "batched": ("bij,bjk->bik", f32(2, 3, 4), f32(2, 4, 5)),
    "turned_result": ("bij,bjk->kbi", f32(2, 3, 4), f32(2, 4, 5)), "outer": ("i,j->ij", f32(3), f32(4)), "dot": ("i,i->", f32(5), f32(5)),
    "hadamard": ("ij,ij->ij", f32(3, 4), f32(3, 4)), "attention": ("bhqd,bhkd->bhqk", f32(2, 2, 3, 4), f32(2, 2, 5, 4)),
    "attention_values": ("bhqk,bkhd->bqhd", f32(2, 2, 3, 5), f32(2, 5, 2, 4)), "two_sums": ("abc,bca->c", f32(2, 3, 4), f32(3, 4, 2)),
    "sum_in_one": ("ij,k->k", f32(3, 4), f32(5)), "dots": ("...ij,...jk->...ik", f32(2, 1, 3, 4), f32(3, 4, 5)), "dots_implicit": ("...ij,jk", f32(2, 3, 4), f32(4, 5)),
    "dots_last": ("i...,i...->...", f32(3, 2, 2), f32(3, 2, 2)), "broadcast_one": ("ij,ij->i", f32(3, 1), f32(3, 4)), "strided": ("ij,kj->ki", noncontig(f32(3, 4)), transposed(f32(5, 4))),
    "diagonal_inside": ("ii,i->i", f32(3, 3), f32(3)), "ints": ("ij,jk->ik", i64(3, 4), i64(4, 5)), "empty": ("ij,jk->ik", f32(3, 0), f32(0, 5)),
    "none": ("ij,jk->ik", f32(0, 4), f32(4, 5)), "spaces": (" i j , j k -> i k ", f32(3, 4), f32(4, 5)), "case": ("aB,Bc->ac", f32(3, 4), f32(4, 5)),
}
for name, (equation, x, y) in PAIRS.items():
    row(f"einsum_{name}", f"""
        z = torch.einsum('{equation}', x, y)
        return z, z.stride()""", x=x, y=y)
# Strides with dimensions of size 1: einsum as a matrix product, as a pointwise product, and with sums before it.
STRIDES = ["ij,kj->ikj", "bhid,bhjd->bhij", "bhij,bhjd->bihd", "ij,jk->ki", "ij,ij->ji", "ij,ki->jk", "ijk,kl->ilj", "ij,k->ikj", "ij,jk->i", "ij,jk->",
           "...i,...i->...", "i...j,j->...i", "i,j->ji", "ij,jk,kl->lji", "ij,ij,ij->ji", "ij,jk,ik->kj", "ab,bc,cd,de,ef,fg,gh->ha"]
for at, equation in enumerate(STRIDES):
    source = f"""
def f(x: Tensor):
    out: List[List[int]] = []
    for one in {[list(map(int, f"{k:03b}")) for k in range(8)]}:
"""
    terms = equation.split("->")[0].split(",")
    letters = sorted(set(equation) - set(",->."))
    sizes = {c: f"(1 if one[{k % 3}] == 1 else {2 + k % 4})" for k, c in enumerate(letters)}
    ones = ", ".join(f"torch.ones([{', '.join(sizes[c] for c in term.replace('...', letters[0]))}]) * x" for term in terms)
    row(f"einsum_strides_{at}", source + f"        z = torch.einsum('{equation}', {ones})\n        out.append(z.stride() + z.size())\n        out.append([int(z.sum())])\n    return out\n", x=f32(1, lo=1, hi=1))
row("einsum_ten_subscripts", f"torch.einsum('ab,bc,cd,de,ef,fg,gh,hi,ij->ja', {', '.join(['x, x.t()'] * 4 + ['x'])})", x=f32(2, 3))
row("einsum_sublists", """
    return (torch.einsum(x, [0, 1], y, [1, 2], [2, 0]), torch.einsum(x, [30, 1], y, [1, 2]), torch.einsum(x[0], [51], y[:, 0], [51]),
            torch.einsum(y[:3, :3], [7, 7]), torch.einsum(x, [0, 1], y, [1, 2], x, [2, 3], [3, 0]), torch.einsum(x.sum(0), [3], y, [3, 4]))""",
    x=f32(3, 4), y=f32(4, 3))
SINGLES = {"transpose": "ij->ji", "sum": "ij->", "sum_rows": "ij->j", "diagonal": "ii->i", "trace": "ii", "copy": "ij", "dots": "...->...", "dots_sum": "i...->..."}
for name, equation in SINGLES.items():
    row(f"einsum_one_{name}", f"torch.einsum('{equation}', x)", x=f32(4, 4))
row("einsum_three", "(torch.einsum('ij,jk,kl->il', x, y, z), torch.einsum('ij,jk,kl->', x, y, z))", x=f32(3, 4), y=f32(4, 5), z=f32(5, 2))
for dtype in ("i32", "u8", "i8"):
    row(f"einsum_sums_of_{dtype}", "(torch.einsum('ij,k->ik', x, y), torch.einsum('ij,k->i', x, y), torch.einsum('ij,k->', x, y), torch.einsum('ij,jk->', x, x.t()), torch.einsum('ij,ij->j', x, x), "
        "torch.einsum('ij,k->ijk', x, y), torch.einsum('ij,kj->ik', x, x[:1]))", x=random(dtype, 3, 4), y=random(dtype, 5))
for name, x, y in (("ints", i64(3, 4), f32(5)), ("ints_second", f32(3, 4), i32(5)), ("doubles", f32(3, 4), f64(5)), ("bools", b8(3, 4), f32(5)), ("small_ints", i32(3, 4), i64(5))):
    row(f"einsum_promotes_{name}", "(torch.einsum('ij,k->ijk', x, y), torch.einsum('ij,k->kji', x, y), torch.einsum('ij,j->ij', x, y[:4]), torch.einsum('ij,k->ik', x, y), torch.einsum('ij,k,l->lijk', x, y, x[0]))", x=x, y=y)
row("einsum_sums_no_mixed_dtypes", "torch.einsum('ij,j->i', x, y)", x=f32(3, 4), y=f64(4), raises="same dtype")
row("einsum_bilinear", "torch.einsum('bn,anm,bm->ba', x, w, y)", x=f32(2, 3), w=f32(5, 3, 4), y=f32(2, 4))
row("einsum_view_writes_through", """
    torch.einsum('ij->ji', x).zero_()
    return x""", x=f32(3, 4))
row("einsum_sizes_differ", "torch.einsum('ij,jk->ik', x, y)", x=f32(3, 4), y=f32(5, 2), raises="does not broadcast with previously seen size")
row("einsum_too_few_subscripts", "torch.einsum('i->i', x)", x=f32(3, 4), raises="does not match the number of dimensions")
row("einsum_too_many_operands", "torch.einsum('ij', x, x)", x=f32(3, 4), raises="more operands were provided than specified in the equation")
row("einsum_output_unknown", "torch.einsum('ij->ik', x)", x=f32(3, 4), raises="does not appear in the equation for any input operand")
row("einsum_output_twice", "torch.einsum('ij->ii', x)", x=f32(3, 4), raises="more than once in the output")

# ---- By their own names (one_operator.py) ------------------------------------------------------------

row("name_linalg_matmul", "aten::linalg_matmul(x, y)", x=f32(3, 5), y=f32(5, 4), also=[{"x": f32(2, 3, 5)}, {"y": f32(5)}])
row("name_ger", "aten::ger(x, y)", x=f32(3), y=f32(4), also=[{"x": i64(2), "y": i64(3)}])
