"""einsum, and the functional forms of writing into a view."""
from conformance import *

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
SINGLES = {"transpose": "ij->ji", "sum": "ij->", "sum_rows": "ij->j", "diagonal": "ii->i", "trace": "ii", "copy": "ij", "dots": "...->...", "dots_sum": "i...->..."}
for name, equation in SINGLES.items():
    row(f"einsum_one_{name}", f"torch.einsum('{equation}', x)", x=f32(4, 4))
row("einsum_three", "(torch.einsum('ij,jk,kl->il', x, y, z), torch.einsum('ij,jk,kl->', x, y, z))", x=f32(3, 4), y=f32(4, 5), z=f32(5, 2))
row("einsum_bilinear", "torch.einsum('bn,anm,bm->ba', x, w, y)", x=f32(2, 3), w=f32(5, 3, 4), y=f32(2, 4))
row("einsum_view_writes_through", """
    torch.einsum('ij->ji', x).zero_()
    return x""", x=f32(3, 4))
row("einsum_sizes_differ", "torch.einsum('ij,jk->ik', x, y)", x=f32(3, 4), y=f32(5, 2), raises="does not broadcast with previously seen size")
row("einsum_too_few_subscripts", "torch.einsum('i->i', x)", x=f32(3, 4), raises="does not match the number of dimensions")
row("einsum_too_many_operands", "torch.einsum('ij', x, x)", x=f32(3, 4), raises="more operands were provided than specified in the equation")
row("einsum_output_unknown", "torch.einsum('ij->ik', x)", x=f32(3, 4), raises="does not appear in the equation for any input operand")
row("einsum_output_twice", "torch.einsum('ij->ii', x)", x=f32(3, 4), raises="more than once in the output")

row("slice_scatter", "(torch.slice_scatter(x, y, 0, 1, 3), torch.slice_scatter(x, y, 0, 0, 4, 2), torch.slice_scatter(x, z, 1, -1), x)", x=f32(4, 3), y=f32(2, 3), z=f32(4, 1), also=[{"x": transposed(f32(4, 3))}])
row("slice_scatter_wrong", "torch.slice_scatter(x, y, 0, 1, 3)", x=f32(4, 3), y=f32(3, 3), raises="expected src to have a size equal to the slice of self")
row("select_scatter", "(torch.select_scatter(x, y, 0, 1), torch.select_scatter(x, z, 1, -1), x)", x=f32(4, 3), y=f32(3), z=f32(4))
row("diagonal_scatter", "(torch.diagonal_scatter(x, y), torch.diagonal_scatter(x, y[:2], 1), x)", x=f32(4, 3), y=f32(3))
row("diag", "(torch.diag(x), torch.diag(x, 1), torch.diag(x, -2), torch.diag(v), torch.diag(v, 1), torch.diag(v, -2))", x=f32(4, 3), v=f32(3))
row("diag_embed", "(torch.diag_embed(x), torch.diag_embed(x, 1), torch.diag_embed(x, -1, 0, 2), torch.diag_embed(x[:, :0], 2))", x=f32(2, 3))
row("trace", "(torch.trace(x), torch.trace(i), torch.trace(x.t()), torch.trace(x[:0]))", x=f32(4, 3), i=i64(3, 3))
row("block_diag", "(torch.block_diag(x, y, z), torch.block_diag(x), torch.block_diag(i, x))", x=f32(2, 3), y=f32(2), z=f32(), i=i64(1, 1))
