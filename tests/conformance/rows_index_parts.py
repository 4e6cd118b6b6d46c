"""Functional forms of a write to a view; diagonals and blocks."""
from conformance import *

row("slice_scatter", "(torch.slice_scatter(x, y, 0, 1, 3), torch.slice_scatter(x, y, 0, 0, 4, 2), torch.slice_scatter(x, z, 1, -1), x)", x=f32(4, 3), y=f32(2, 3), z=f32(4, 1), also=[{"x": transposed(f32(4, 3))}])
row("slice_scatter_wrong", "torch.slice_scatter(x, y, 0, 1, 3)", x=f32(4, 3), y=f32(3, 3), raises="expected src to have a size equal to the slice of self")
row("select_scatter", "(torch.select_scatter(x, y, 0, 1), torch.select_scatter(x, z, 1, -1), x)", x=f32(4, 3), y=f32(3), z=f32(4))
row("diagonal_scatter", "(torch.diagonal_scatter(x, y), torch.diagonal_scatter(x, y[:2], 1), x)", x=f32(4, 3), y=f32(3))
row("diag", "(torch.diag(x), torch.diag(x, 1), torch.diag(x, -2), torch.diag(v), torch.diag(v, 1), torch.diag(v, -2))", x=f32(4, 3), v=f32(3))
row("diag_embed", "(torch.diag_embed(x), torch.diag_embed(x, 1), torch.diag_embed(x, -1, 0, 2), torch.diag_embed(x[:, :0], 2))", x=f32(2, 3))
row("trace", "(torch.trace(x), torch.trace(i), torch.trace(x.t()), torch.trace(x[:0]))", x=f32(4, 3), i=i64(3, 3))
row("block_diag", "(torch.block_diag(x, y, z), torch.block_diag(x), torch.block_diag(i, x))", x=f32(2, 3), y=f32(2), z=f32(), i=i64(1, 1))
