"""More operators that the exporter decomposes: margin losses, embedding bags, unpooling, integrals, histograms."""
from conformance import *

# ---- Losses ------------------------------------------------------------------------------------------


def each_reduction(call):
    return f"({', '.join(call.format(r) for r in ('mean', 'sum', 'none'))})"


SIGNS = tensor([1.0, -1.0, 1.0])
row("margin_ranking_loss", each_reduction("F.margin_ranking_loss(x, y, t, 0.25, reduction='{}')"), x=f32(3), y=f32(3), t=SIGNS, also=[{"x": f64(0), "y": f64(0), "t": f64(0)}, {"x": noncontig(f32(3))}])
row("margin_ranking_loss_ranks_differ", "F.margin_ranking_loss(x, y, y)", x=f32(3), y=f32(1, 3), raises="should have same")
row("hinge_embedding_loss", each_reduction("F.hinge_embedding_loss(x, t, 0.5, reduction='{}')"), x=f32(3), t=SIGNS, also=[{"x": f32(2, 3)}, {"x": f64(3)}])
row("soft_margin_loss", each_reduction("F.soft_margin_loss(x, t, reduction='{}')"), x=f32(3), t=SIGNS, also=[{"x": f64(3)}])
row("cosine_embedding_loss", each_reduction("F.cosine_embedding_loss(x, y, t, 0.1, reduction='{}')"), x=f32(3, 5), y=f32(3, 5), t=SIGNS, also=[{"x": f32(5), "y": f32(5), "t": tensor(-1.0)}])
row("cosine_embedding_loss_ranks_differ", "F.cosine_embedding_loss(x, x, t)", x=f32(3), t=SIGNS, raises="target tensor expects")
row("triplet_margin_loss", f"{each_reduction('F.triplet_margin_loss(x, y, z, 0.5, reduction={!r})')[:-1]}, F.triplet_margin_loss(x, y, z, swap=True), F.triplet_margin_loss(x, y, z, p=1.0))",
    x=f32(3, 5), y=f32(3, 5), z=f32(3, 5), also=[{"x": f64(2, 4), "y": f64(2, 4), "z": f64(2, 4)}])
row("poisson_nll_loss", f"{each_reduction('F.poisson_nll_loss(x, t, reduction={!r})')[:-1]}, F.poisson_nll_loss(x, t, False, True), F.poisson_nll_loss(x, t, True, True))", x=f32(3, 5, lo=0.1, hi=2), t=f32(3, 5, lo=0, hi=4))
row("gaussian_nll_loss", "F.gaussian_nll_loss(x, y, v), F.gaussian_nll_loss(x, y, v, True, reduction='none')", x=f32(3, 5), y=f32(3, 5), v=f32(3, 5, lo=0.1, hi=2), trace=True)
MULTI = dict(x=f32(4, 5), t=tensor([0, 4, 2, 1], "i64"), w=f32(5, lo=0.1, hi=2), also=[{"x": f64(4, 5), "w": f64(5, lo=0.1, hi=2)}])
row("multi_margin_loss", f"{each_reduction('F.multi_margin_loss(x, t, reduction={!r})')[:-1]}, F.multi_margin_loss(x, t, 2, 0.5, w), F.multi_margin_loss(x[0], t[0], reduction='none'))", **MULTI)
row("multi_margin_loss_p_wrong", "F.multi_margin_loss(x, t, 3)", x=f32(2, 3), t=tensor([0, 1], "i64"), raises="only p == 1 and p == 2 supported")
row("multilabel_margin_loss", f"{each_reduction('F.multilabel_margin_loss(x, t, reduction={!r})')[:-1]}, F.multilabel_margin_loss(x[0], t[0], reduction='none'), torch.ops.aten.multilabel_margin_loss_forward(x, t, 1))",
    x=f32(3, 4), t=tensor([[3, 0, -1, 1], [-1, 2, 1, 0], [0, 1, 2, 3]], "i64"), also=[{"x": f64(3, 4)}])
CTC = dict(x=f32(6, 3, 5), t=i64(3, 4, lo=1, hi=4), n=tensor([6, 5, 4], "i64"), m=tensor([4, 2, 0], "i64"))
row("ctc_loss", f"x = torch.log_softmax(x, 2)\nreturn ({each_reduction('F.ctc_loss(x, t, n, m, reduction={!r})')}, F.ctc_loss(x, t, n, m, zero_infinity=True), F.ctc_loss(x, t.flatten()[:6], n, m, 2, 'none'))",
    also=[{"t": tensor([[1, 1, 1, 1], [2, 2, 1, 3], [4, 3, 2, 1]], "i64")}], **CTC)
row("ctc_loss_one", "F.ctc_loss(torch.log_softmax(x, 1), t, n, m, reduction='none')", x=f64(6, 5), t=tensor([1, 3, 3], "i64"), n=tensor(6, "i64"), m=tensor(3, "i64"))
row("ctc_loss_of_lists", "torch.ctc_loss(torch.log_softmax(x, 2), t, [6, 2], [3, 1], 0, 1, False)", x=f32(6, 2, 5), t=i64(2, 3, lo=1, hi=4))
row("ctc_loss_blank_wrong", "torch.ctc_loss(x, t, [6], [3], 7, 1, False)", x=f32(6, 1, 5), t=i64(1, 3, lo=1, hi=4), raises="blank must be in label range")

# ---- Bags of embeddings ------------------------------------------------------------------------------

BAG = dict(w=f32(10, 3), i=tensor([1, 2, 4, 5, 4, 3, 2, 9], "i64"), o=tensor([0, 3, 3, 7], "i64"))
for mode in ("sum", "mean", "max"):
    row(f"embedding_bag_{mode}", f"(F.embedding_bag(i, w, o, mode='{mode}'), F.embedding_bag(i.view(2, 4), w, mode='{mode}'), F.embedding_bag(i, w, o, mode='{mode}', padding_idx=4), F.embedding_bag(i, w, o, mode='{mode}', padding_idx=-6), F.embedding_bag(i, w, torch.cat([o, torch.full([1], 8)]), mode='{mode}', include_last_offset=True))",
        also=[{"w": f64(10, 3)}, {"i": tensor([1, 2, 4, 5, 4, 3, 2, 9], "i32"), "o": tensor([0, 0, 8, 8], "i32")}] if mode == "sum" else [{"w": f64(10, 3)}], **{**BAG})
row("embedding_bag_places", "torch.embedding_bag(w, i, o, False, mode, False, None, False, -1)[3]", mode=2, **BAG)
row("embedding_bag_weighted", "F.embedding_bag(i, w, o, mode='sum', per_sample_weights=s), F.embedding_bag(i, w, o, mode='sum', per_sample_weights=s, padding_idx=2)", s=f32(8), **BAG)
row("embedding_bag_of_nothing", "F.embedding_bag(i, w, o)", w=f32(4, 3), i=i64(0), o=tensor([0, 0], "i64"))
row("embedding_bag_offsets_wrong", "F.embedding_bag(i, w, o + 1)", raises="offsets[0] has to be 0", **BAG)
row("embedding_bag_beyond", "F.embedding_bag(i + 5, w, o)", raises="", **BAG)
row("embedding_max_norm", "torch.embedding_renorm_(w, i, 1.0, 2.0), torch.embedding_renorm_(v, i, 0.5, 1.0)", w=f32(5, 3), v=f64(5, 4), i=tensor([[1, 4], [1, 0]], "i64"), mutates=True)
row("embedding_max_norm_of_a_copy", "(torch.ops.aten.embedding_renorm(w, i, 1.0, 2.0), w)", w=f32(5, 3), i=tensor([[1, 4], [1, 0]], "i64"))

# ---- Unpooling and fractional pooling -----------------------------------------------------------------

row("max_unpool1d", "y, i = F.max_pool1d(x, 2, return_indices=True)\nreturn F.max_unpool1d(y, i, 2), F.max_unpool1d(y, i, 2, output_size=[9])", x=f32(2, 3, 8), also=[{"x": f64(3, 8)}])
row("max_unpool2d", "y, i = F.max_pool2d(x, 2, return_indices=True)\nreturn F.max_unpool2d(y, i, 2), F.max_unpool2d(y, i, 2, output_size=[5, 7])", x=f32(2, 3, 4, 6), also=[{"x": f32(3, 4, 6)}, {"x": channels_last(f32(2, 3, 4, 6))}])
row("max_unpool3d", "y, i = F.max_pool3d(x, 2, return_indices=True)\nreturn F.max_unpool3d(y, i, 2)", x=f32(1, 2, 4, 6, 2), also=[{"x": f32(2, 4, 6, 2)}])
row("max_unpool2d_beyond", "torch.ops.aten.max_unpool2d(x, i, [2, 2])", x=f32(1, 2, 2), i=tensor([[[0, 1], [2, 4]]], "i64"), raises="invalid max index")
row("fractional_max_pool2d", "torch.ops.aten.fractional_max_pool2d(x, [2, 3], [3, 4], u), torch.ops.aten.fractional_max_pool2d(x, [2, 2], [1, 1], u)", x=f32(2, 3, 7, 9), u=f32(2, 3, 2, lo=0, hi=1), also=[{"x": f32(3, 7, 9), "u": f32(1, 3, 2, lo=0, hi=1)}])
row("fractional_max_pool3d", "torch.ops.aten.fractional_max_pool3d(x, [2, 3, 1], [3, 2, 4], u)", x=f32(2, 3, 7, 6, 5), u=f32(2, 3, 3, lo=0, hi=1), also=[{"x": f64(3, 7, 6, 5), "u": f64(1, 3, 3, lo=0, hi=1)}])
row("fractional_max_pool_samples_for_more", "torch.ops.aten.fractional_max_pool2d(x, [2, 3], [3, 4], u)", x=f32(2, 3, 7, 9), u=f32(4, 3, 2, lo=0, hi=1),
    also=[{"x": f32(3, 7, 9), "u": f32(2, 3, 2, lo=0, hi=1)}, {"x": f32(0, 3, 7, 9), "u": f32(2, 3, 2, lo=0, hi=1)}])
row("fractional_max_pool_samples_for_fewer", "torch.ops.aten.fractional_max_pool2d(x, [2, 3], [3, 4], u)", x=f32(2, 3, 7, 9), u=f32(1, 3, 2, lo=0, hi=1), raises="no less then input batch size")
row("fractional_max_pool2d_too_large", "torch.ops.aten.fractional_max_pool2d(x, [9, 9], [1, 1], u)", x=f32(1, 1, 4, 4), u=f32(1, 1, 2, lo=0, hi=1), raises="too large relative to input")

# ---- Integrals, differences, norms ---------------------------------------------------------------------

row("trapezoid", "(torch.trapezoid(y), torch.trapezoid(y, dx=2.5), torch.trapezoid(y, x), torch.trapezoid(y, dim=0), torch.trapz(y, x), torch.trapz(y, dx=0.5))", y=f32(3, 5), x=f32(5), also=[{"y": i64(3, 5)}, {"y": f64(2, 3, 5), "x": f64(3, 5)}])
row("convert_indices_from_coo_to_csr", "(torch._convert_indices_from_coo_to_csr(i, 6), torch._convert_indices_from_coo_to_csr(i, 5, out_int32=True))", i=tensor([0, 0, 2, 4], "i64"),
    also=[{"i": tensor([1, 1, 4], "i32")}, {"i": i64(0)}])
row("trapezoid_of_nothing", "torch.trapezoid(y), torch.trapezoid(y, x)", y=f32(3, 0), x=f32(0))
row("cumulative_trapezoid", "(torch.cumulative_trapezoid(y), torch.cumulative_trapezoid(y, dx=2.5), torch.cumulative_trapezoid(y, x), torch.cumulative_trapezoid(y, dim=0))", y=f32(3, 5), x=f32(5), also=[{"y": i64(3, 5)}])
row("trapezoid_of_bools", "torch.trapezoid(y)", y=b8(4), raises="received a bool input for `y`")
row("trapezoid_points_missing", "torch.trapezoid(y, x)", y=f32(4), x=f32(3), raises="one `x` value for each sample point")
row("gradient", """
    return (torch.gradient(x) + torch.gradient(x, spacing=2.0) + torch.gradient(x, dim=1) + torch.gradient(x, dim=[0, 1], edge_order=2)
            + torch.gradient(x, spacing=[a, b]) + torch.gradient(x, spacing=[b], dim=[1], edge_order=2))""",
    x=f32(3, 5), a=tensor([0.0, 1.0, 4.0]), b=tensor([-1.0, 0.5, 1.0, 3.0, 7.0]), also=[{"x": noncontig(f32(3, 5))}, {"x": f64(3, 5)}], trace=True)
row("gradient_of_ints", "torch.gradient(x)[0]", x=i64(5), trace=True)
row("pdist", "(F.pdist(x), F.pdist(x, 1.0), F.pdist(x, 0.0), F.pdist(x, float('inf')))", x=f32(5, 3), also=[{"x": f64(2, 7)}, {"x": f32(1, 3)}, {"x": f32(0, 3)}])
row("renorm", "(torch.renorm(x, 2, 0, 1.0), torch.renorm(x, 1, -1, 0.5), torch.renorm(x, float('inf'), 1, 5))", x=f32(3, 4, 2), also=[{"x": f64(3, 4)}])
row("renorm_inplace", "x.renorm_(2, 1, 0.5)", x=f32(3, 4), mutates=True)
row("renorm_of_a_vector", "torch.renorm(x, 2, 0, 1.0)", x=f32(3), raises="at least 2 dimensions")
row("weight_norm", "torch._weight_norm(v, g, 0), torch._weight_norm(v, h, 2), torch._weight_norm(v, s, -1)", v=f32(3, 4, 2), g=f32(3, 1, 1), h=f32(1, 1, 2), s=f32())

row("linalg_diagonal", "torch.linalg.diagonal(x), torch.linalg.diagonal(x, offset=1, dim1=0, dim2=1)", x=f32(2, 3, 4))
row("linalg_vecdot", "torch.linalg.vecdot(x, y), torch.linalg.vecdot(x, y, dim=0)", x=f32(3, 5), y=f32(3, 5), also=[{"x": f64(0, 5), "y": f64(0, 5)}])
row("linalg_multi_dot", "torch.linalg.multi_dot([x, y, z]), torch.linalg.multi_dot([x[0], y]), torch.linalg.multi_dot([x, y, z, z[0]])", x=f32(2, 3), y=f32(3, 4), z=f32(4, 4))
row("linalg_vander", "torch.linalg.vander(x, N=2), torch.linalg.vander(x, N=5)", x=f32(2, 3), also=[{"x": i64(4)}, {"x": f32()}])
row("linalg_norm", "(" + ", ".join(f"torch.linalg.norm(x, {p}), torch.linalg.norm(x[0], {p}), torch.linalg.norm(x, {p}, dim=[1, 0], keepdim=True), torch.linalg.norm(x, {p}, dim=1)" for p in ("2", "-2", "1", "float('-inf')")) +
    ", torch.linalg.norm(x), torch.linalg.norm(x, 3, dim=0, keepdim=True), torch.linalg.norm(x, dim=[0], dtype=torch.float64))", x=f32(4, 5))
row("linalg_norm_of_three_dimensions", "torch.linalg.norm(x, 2)", x=f32(2, 3, 4), raises="must be 1D or 2D")
row("linalg_norm_order_3_of_matrices", "torch.linalg.norm(x, 3)", x=f32(3, 4), raises="Order 3")
row("linalg_matrix_norm", "(" + ", ".join(f"torch.linalg.matrix_norm(x, {p}), torch.linalg.matrix_norm(x, {p}, dim=[1, 0], keepdim=True)" for p in ("'fro'", "1", "-1", "float('inf')", "float('-inf')")) + ", torch.linalg.norm(x[0], 'fro'), torch.linalg.norm(x, 'fro', dim=[0, 2], dtype=torch.float64))",
    x=f32(2, 3, 4), also=[{"x": f64(3, 2, 5)}])
row("linalg_matrix_norm_wrong", "torch.linalg.matrix_norm(x, 3)", x=f32(2, 3), raises="Order 3")

# ---- Statistics ----------------------------------------------------------------------------------------

row("cov", "(torch.cov(x), torch.cov(x, correction=0), torch.cov(x, fweights=n), torch.cov(x, fweights=n, aweights=a), torch.cov(x, aweights=a, correction=2), torch.cov(x[0]))",
    x=f32(3, 5), n=i64(5, lo=1, hi=4), a=f32(5, lo=0.1, hi=1), also=[{"x": f64(2, 5)}, {"x": i64(2, 5)}])
row("cov_of_bools", "torch.cov(x)", x=b8(2, 3), raises="bool dtype is not supported")
row("corrcoef", "torch.corrcoef(x), torch.corrcoef(x[0])", x=f32(3, 5), also=[{"x": f64(4, 9)}, {"x": i64(2, 5)}])
row("histogram", "(torch.histogram(x, 5), torch.histogram(x, 4, range=[-1.0, 0.5]), torch.histogram(x, 3, weight=w), torch.histogram(x, b), torch.histogram(x, b, weight=w, density=True), torch.histogram(x, 6, density=True))",
    x=f32(40), w=f32(40, lo=0, hi=1), b=tensor([-1.0, -0.25, 0.0, 0.5, 1.0]), also=[{"x": f32(40, lo=2, hi=2)}, {"x": f32(5, 8), "w": f32(5, 8, lo=0, hi=1)}])
row("histogram_of_nothing", "torch.histogram(x, 4)", x=f64(0))
row("histogramdd", "(torch.histogramdd(x, [3, 4]), torch.histogramdd(x, [2, 2], range=[-1.0, 0.5, 0.0, 1.0], density=True), torch.histogramdd(x, 3, weight=w), torch.histogramdd(x, [b, b]))",
    x=f32(30, 2), w=f32(30, lo=0, hi=1), b=tensor([-1.0, -0.25, 0.0, 0.5, 1.0]), trace=True)
row("vander", "(torch.vander(x), torch.vander(x, 3), torch.vander(x, 4, True), torch.vander(x, 0), torch.vander(x, 1))", x=f32(4), also=[{"x": i64(3)}, {"x": f64(0)}])
SEGMENTS = dict(x=f32(6, 3), n=tensor([2, 0, 4], "i64"), o=tensor([0, 2, 2, 6], "i64"))
for how in ("sum", "mean", "max", "min", "prod"):
    row(f"segment_reduce_{how}", f"(torch.segment_reduce(x, '{how}', lengths=n), torch.segment_reduce(x, '{how}', offsets=o), torch.segment_reduce(x, '{how}', lengths=n, initial=0.5), torch.segment_reduce(x.t().contiguous(), '{how}', lengths=n.expand(3, 3).contiguous(), axis=1))", **SEGMENTS)

# ---- Parts ---------------------------------------------------------------------------------------------

row("angle", "torch.angle(x), torch.angle(i)", x=tensor([0.0, -0.0, 1.5, -2.0, NAN, INF, -INF]), i=i64(5, lo=-2, hi=2), also=[{"x": f64(2, 3)}, {"i": b8(3)}])
row("real_parts", "torch.conj_physical(x), torch.isreal(x), x.conj(), torch.real(x)", x=f32(2, 3))
row("frexp", "torch.frexp(x)", x=tensor([0.0, -0.0, 1.0, -0.5, 3.0, 1e-40, 1e38, 0.99999994, NAN, INF, -INF]), also=[{"x": f64(3, 5)}, {"x": tensor([5e-324, -1e-310, 1.7e308, 0.9999999999999999], "f64")}])
row("gcd", "torch.gcd(x, y), torch.lcm(x, y), torch.gcd(x, z), torch.lcm(y, z)", x=i64(3, 5, lo=-30, hi=30), y=i64(5, lo=-30, hi=30), z=tensor([0, 1, -4, 6, 12], "i32"), also=[{"x": i64(0, 5)}, {"x": u8(2, 5)}])
row("gcd_inplace", "x.gcd_(y), z.lcm_(y)", x=i64(5, lo=-30, hi=30), z=i64(5, lo=1, hi=9), y=i64(5, lo=1, hi=30), mutates=True)
row("gcd_of_floats", "torch.gcd(x, x)", x=f32(3), raises="not implemented for")
row("diagflat", "torch.diagflat(x), torch.diagflat(x, 1), torch.diagflat(x, -2)", x=f32(2, 2), also=[{"x": i64(3)}, {"x": f32()}])
row("atleast_of_lists", "torch.atleast_1d(xs) + torch.atleast_2d(xs) + torch.atleast_3d(xs)", xs=[f32(), f32(2), f32(2, 3)], trace=True)
row("sum_to_size", "(x.sum_to_size([3, 1]), x.sum_to_size([4]), x.sum_to_size([2, 3, 4]), x.sum_to_size([1]))", x=f32(2, 3, 4))
row("sum_to_size_of_bools", "x.sum_to_size([2, 3]), x.sum_to_size([3]), x.sum_to_size([]), x[0, 0].sum_to_size([])", x=b8(2, 3))
row("sum_to_size_wrong", "x.sum_to_size([5])", x=f32(2, 3), raises="is not expandable to size")
row("nonzero_static", "(torch.nonzero_static(x, size=4), torch.nonzero_static(x, size=1), torch.nonzero_static(x, size=9, fill_value=7))", x=tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
row("as_strided_scatter", "torch.as_strided_scatter(x, y, [2, 2], [3, 1]), torch.as_strided_scatter(x, y, [2, 2], [1, 2], 3)", x=f32(3, 3), y=f32(2, 2), also=[{"x": transposed(f32(3, 3))}])
row("chunk_cat", "torch.ops.aten._chunk_cat([x, y], 0, 2), torch.ops.aten._chunk_cat([x, x], 1, 3)", x=f32(3, 4), y=f32(5, 4))
row("masked_index", "torch.ops.aten._unsafe_masked_index(x, m, [i, None], 7.0), torch.ops.aten._unsafe_masked_index_put_accumulate(x, m, [i, None], y)",
    x=f32(4, 3), m=tensor([[True], [False], [True]], "b8"), i=tensor([0, 9, 0], "i64"), y=f32(3, 3))
row("shape_as_tensor", "torch._shape_as_tensor(x)", x=f32(3, 0, 2), also=[{"x": f32()}])
row("empty_permuted", "torch.zeros_like(torch.empty_permuted(x.shape, [2, 0, 1])).stride(), torch.zeros_like(torch.empty_permuted([2, 3], [1, 0]))", x=f32(2, 3, 4))
row("safe_softmax", "torch.ops.aten._safe_softmax(x, 1), torch.ops.aten._safe_softmax(x, 0, torch.float64)", x=tensor([[1.0, -INF, 2.0], [-INF, -INF, -INF]]))
row("batch_norm_with_update", "torch.ops.aten._batch_norm_with_update(x, w, b, m, v, 0.1, 1e-5)", x=f32(4, 3, 2), w=f32(3), b=f32(3), m=f32(3), v=f32(3, lo=0.5, hi=2), mutates=True)

# ---- PyTorch's random numbers ----------------------------------------------------------------------------

row("rrelu_training", "F.rrelu(x, 0.1, 0.4, True), F.rrelu(y, 0.1, 0.4, True), F.rrelu(x, 0.1, 0.4, False)", x=f32(5, 7), y=f64(3, 4), also=[{"x": transposed(f32(5, 7))}])
row("rrelu_training_inplace", "F.rrelu_(x, 0.1, 0.4, True)", x=f32(5, 7), mutates=True)
row("rrelu_bounds_wrong", "F.rrelu(x, 0.4, 0.1, True)", x=f32(3), raises="Lower bound should be less than or equal to the upper bound")
row("attention_with_dropout", "F.scaled_dot_product_attention(q, k, v, dropout_p=0.3), F.scaled_dot_product_attention(q, k, v, m, dropout_p=0.5), F.scaled_dot_product_attention(q, k[:, :, :4], v[:, :, :4], dropout_p=0.25, is_causal=True, scale=0.5)",
    q=f32(2, 3, 4, 8), k=f32(2, 3, 5, 8), v=f32(2, 3, 5, 6), m=b8(4, 5))
row("attention_with_dropout_given", "F.scaled_dot_product_attention(q, q, q, dropout_p=p)", q=f32(2, 3, 4, 8), p=0.3, also=[{"p": 0.0}])
row("random_out", "(torch.bernoulli(p, out=a), torch.multinomial(p, 3, out=i), torch.normal(m, p, out=b), torch.normal(m, 2.0, out=c), torch.normal(0.5, p, out=d))",
    p=f32(3, 4, lo=0.1, hi=0.9), m=f32(3, 4), a=f32(0), b=f32(3, 4), c=f32(3, 4), d=f32(0), i=i64(0), mutates=True)

# ---- In-place and out= forms of decomposed operators -----------------------------------------------------

row("programs_in_place", "x.heaviside_(y), z.ldexp_(i)", x=f32(2, 3), y=f32(3), z=f32(2, 3), i=i64(3), mutates=True)
row("programs_in_place_too_small", "x.heaviside_(y)", x=f32(3), y=f32(2, 3), raises="output with shape")
row("programs_in_place_cast", "x.ldexp_(y)", x=i64(3), y=i64(3), raises="can't be cast")
row("programs_out", "(torch.kron(x, x, out=a), torch.inner(x, x, out=b), torch.diff(x, out=c), torch.nanmean(x, out=d))", x=f32(2, 3), a=f32(0), b=f32(2, 2), c=f32(0), d=f32(), mutates=True)
row("linspace_of_tensors_out", "(torch.linspace(a, b, 5, out=x), torch.linspace(a, 3, 5, out=y), torch.logspace(a, b, 4, out=z), torch.logspace(0, b, 4, 2.0, out=w))",
    a=tensor(-1.5), b=tensor(2, "i64"), x=f32(5), y=f64(5), z=f32(4), w=f32(4), mutates=True)
