# Follows aten/src/ATen/native/Distance.cpp, Linear.cpp, Cross.cpp, ReduceOps.cpp, Integration.cpp, WeightNorm.cpp, Normalization.cpp


def dist(x, other, p: number):
    return torch.norm(x - other, p)


def pairwise_distance(x, other, p: float, eps: float, keepdim: bool):
    return torch.linalg_vector_norm(x - other + eps, p, [-1], keepdim)


def cdist(x, other, p: float, mode: Optional[int]):
    assert p >= 0, "cdist only supports non-negative p values"
    assert x.size(-1) == other.size(-1), "X1 and X2 must have the same number of columns."
    product = mode is not None and mode == 1
    if mode is None or mode == 0:
        product = x.size(-2) > 25 or other.size(-2) > 25
    if p == 2 and product:
        self_squares, other_squares = torch.sum(x * x, -1, True), torch.sum(other * other, -1, True)
        a = torch.cat([x * -2, self_squares, torch.ones_like(self_squares)], -1)
        b = torch.cat([other, torch.ones_like(other_squares), other_squares], -1)
        return torch.sqrt(torch.clamp_min(torch.matmul(a, b.transpose(-2, -1)), 0))
    return torch.linalg_vector_norm(x.unsqueeze(-2) - other.unsqueeze(-3), p, [-1])


def linalg_cross(x, other, dim: int):
    assert x.dim() == other.dim(), "linalg.cross: inputs must have the same number of dimensions."
    assert x.size(dim) == 3 and other.size(dim) == 3, "linalg.cross: inputs dimension must have length 3"
    a, b, c = torch.unbind(x, dim)
    d, e, f = torch.unbind(other, dim)
    return torch.stack([b * f - c * e, c * d - a * f, a * e - b * d], dim if dim >= 0 else dim + x.dim())


def cross(x, other, dim: Optional[int]):
    if dim is not None:
        return linalg_cross(x, other, dim)
    found = -1
    for d in range(x.dim()):
        if x.size(d) == 3 and found < 0:
            found = d
    assert found >= 0, "no dimension of size 3 in input"
    return linalg_cross(x, other, found)


def tensordot(x, other, dims_self: List[int], dims_other: List[int]):
    assert len(dims_self) == len(dims_other), "both dimension lists should have same length"
    self_dims = [(d + x.dim()) % x.dim() for d in dims_self]
    other_dims = [(d + other.dim()) % other.dim() for d in dims_other]
    width = 1
    for k in range(len(self_dims)):
        a, b = x.size(self_dims[k]), other.size(other_dims[k])
        if b == 1:
            x = torch.sum(x, self_dims[k], True)
        elif a == 1:
            other = torch.sum(other, other_dims[k], True)
        else:
            assert a == b, "contracted dimensions need to match, but first has size {} and second has size {}".format(a, b)
        width *= x.size(self_dims[k])
    sizes: List[int] = []
    left: List[int] = []
    right: List[int] = []
    rows, columns = 1, 1
    for d in range(x.dim()):
        if d not in self_dims:
            left.append(d)
            sizes.append(x.size(d))
            rows *= x.size(d)
    for d in range(other.dim()):
        if d not in other_dims:
            right.append(d)
            sizes.append(other.size(d))
            columns *= other.size(d)
    a = torch.permute(x, left + self_dims).reshape([rows, width])
    b = torch.permute(other, other_dims + right).reshape([width, columns])
    return torch.mm(a, b).reshape(sizes)


def inner(x, other):
    if x.dim() == 0 or other.dim() == 0:
        return x * other
    assert x.size(-1) == other.size(-1), "inner() the last dimension must match on both input tensors"
    return tensordot(x, other, [-1], [-1])


def kron(x, other):
    rank = max(x.dim(), other.dim())
    self_sizes: List[int] = []
    other_sizes: List[int] = []
    sizes: List[int] = []
    for d in range(rank):
        a = x.size(d - rank) if d >= rank - x.dim() else 1
        b = other.size(d - rank) if d >= rank - other.dim() else 1
        self_sizes += [a, 1]
        other_sizes += [1, b]
        sizes.append(a * b)
    return (x.reshape(self_sizes) * other.reshape(other_sizes)).reshape(sizes)


def bilinear(x, other, weight, bias: Optional[Tensor]):
    assert x.size(-1) == weight.size(1), "bilinear(): input1 size does not match weight size"
    assert other.size(-1) == weight.size(2), "bilinear(): input2 size does not match weight size"
    y = torch.einsum("...i,oij,...j->...o", [x, weight, other])
    return y if bias is None else y + bias


def diff(x, n: int, dim: int, prepend: Optional[Tensor], append: Optional[Tensor]):
    assert x.dim() > 0, "diff expects input to be at least one-dimensional"
    assert n >= 0, "order must be non-negative but got {}".format(n)
    if n == 0:  # with all dimensions before and behind it
        return x.clone()
    if prepend is not None:
        x = torch.cat([prepend, x], dim)
    if append is not None:
        x = torch.cat([x, append], dim)
    for _ in range(min(n, x.size(dim))):
        count = x.size(dim)
        after, before = torch.narrow(x, dim, 1, count - 1), torch.narrow(x, dim, 0, count - 1)
        x = torch.logical_xor(after, before) if x.dtype == torch.bool else after - before
    return x


def cartesian_prod(tensors: List[Tensor]):
    if len(tensors) == 1:
        return tensors[0]
    return torch.stack([t.flatten() for t in torch.meshgrid(tensors, indexing="ij")], 1)


def pdist(x, p: float):
    assert x.dim() == 2, "pdist only supports 2D tensors, got: {}D".format(x.dim())
    assert torch.is_floating_point(x), "pdist only supports floating-point dtypes"
    assert p >= 0, "pdist only supports non-negative p values"
    pairs = torch.triu_indices(x.size(0), x.size(0), 1)
    return torch.linalg_vector_norm(torch.index_select(x, 0, pairs[0]) - torch.index_select(x, 0, pairs[1]), p, [-1])


def dims_except(x, dim: int):
    along = dim + x.dim() if dim < 0 else dim
    out: List[int] = []
    for d in range(x.dim()):
        if d != along:
            out.append(d)
    return out


def renorm(x, p: number, dim: int, maxnorm: number):
    assert x.dim() > 1, "renorm: input needs at least 2 dimensions, got {} dimensions".format(x.dim())
    assert float(p) > 0 and float(maxnorm) >= 0, "renorm: expected a positive norm-degree, and maxnorm to be >= 0"
    assert dim >= -x.dim() and dim < x.dim(), "Dimension out of range (expected to be in range of [{}, {}], but got {})".format(-x.dim(), x.dim() - 1, dim)
    norms = torch.linalg_vector_norm(to_float64(x), p, dims_except(x, dim), True)
    limit = float(maxnorm)
    factors = torch.where(norms > limit, limit / (norms + 1e-7), torch.ones_like(norms))
    return x * factors.to(x.dtype)


def embedding_renorm(weight, indices, max_norm: float, norm_type: float):
    return embedding_renorm_(weight.clone(), indices, max_norm, norm_type)


def _no_grad_embedding_renorm_(weight, input, max_norm: float, norm_type: float):
    return embedding_renorm_(weight, input, max_norm, norm_type)


def embedding_renorm_(weight, indices, max_norm: float, norm_type: float):
    if indices.numel() > 0:
        rows = torch.unique_dim(indices.reshape([-1]), 0)[0]
        found = torch.index_select(weight, 0, rows)
        norms = torch.linalg_vector_norm(found, norm_type, [1], True)
        weight.index_copy_(0, rows, torch.where(norms > max_norm, found * (max_norm / (norms + 1e-7)), found))
    return weight


def norm_except_dim(v, pow: int, dim: int):
    if dim == -1:
        return torch.norm(v, pow)
    return torch.linalg_vector_norm(v, pow, dims_except(v, dim), True)


def _weight_norm(v, g, dim: int):
    return v * (g / norm_except_dim(v, 2, dim))


def require_numeric(name: str, what: str, x):
    assert x.dtype != torch.bool, "{}: received a bool input for `{}`, but bool is not supported".format(name, what)


def steps_between(name: str, y, x, dim: int):
    """Returns the distances between neighbours of x, which are multiplied by sums of y's."""
    require_numeric(name, "x", x)
    if x.dim() == 1:
        assert x.size(0) == y.size(dim), "{}: There must be one `x` value for each sample point".format(name)
        sizes = [1 for _ in range(y.dim())]
        sizes[dim] = x.size(0)
        x = x.view(sizes)
    elif x.dim() < y.dim():
        x = x.view([1 for _ in range(y.dim() - x.dim())] + x.size())
    return torch.narrow(x, dim, 1, x.size(dim) - 1) - torch.narrow(x, dim, 0, x.size(dim) - 1)


def neighbour_sums(y, dim: int):
    return torch.narrow(y, dim, 0, y.size(dim) - 1) + torch.narrow(y, dim, 1, y.size(dim) - 1)


def trapezoid__x(y, x, dim: int):
    require_numeric("trapezoid", "y", y)
    if y.size(dim) == 0:
        return torch.zeros_like(torch.sum(y, [dim]), dtype=y.dtype)
    return torch.sum(neighbour_sums(y, dim) * steps_between("trapezoid", y, x, dim), [dim]) / 2.0


def trapezoid__dx(y, dx: number, dim: int):
    require_numeric("trapezoid", "y", y)
    if y.size(dim) == 0:
        return torch.zeros_like(torch.sum(y, [dim]), dtype=y.dtype)
    return (torch.sum(y, [dim]) - (torch.select(y, dim, 0) + torch.select(y, dim, -1)) * 0.5) * float(dx)


def trapz__x(y, x, dim: int):
    return trapezoid__x(y, x, dim)


def trapz__dx(y, dx: float, dim: int):
    return trapezoid__dx(y, dx, dim)


def cumulative_trapezoid__x(y, x, dim: int):
    require_numeric("cumulative_trapezoid", "y", y)
    return torch.cumsum(neighbour_sums(y, dim) * steps_between("cumulative_trapezoid", y, x, dim), dim) / 2.0


def cumulative_trapezoid__dx(y, dx: number, dim: int):
    require_numeric("cumulative_trapezoid", "y", y)
    return torch.cumsum(neighbour_sums(y, dim) * (float(dx) / 2.0), dim)


def linalg_diagonal(x, offset: int, dim1: int, dim2: int):
    return torch.diagonal(x, offset, dim1, dim2)


def linalg_vecdot(x, y, dim: int):
    return torch.sum(x.conj() * y, [dim])


def linalg_multi_dot(tensors: List[Tensor]):
    assert len(tensors) >= 2, "multi_dot(): expected at least 2 tensors but got {}".format(len(tensors))
    out = tensors[0]
    for k in range(1, len(tensors)):
        assert tensors[k].dim() == 2 or (tensors[k].dim() == 1 and k == len(tensors) - 1), "multi_dot(): the first and last tensors may be 1D or 2D, those between are 2D"
        out = torch.matmul(out, tensors[k])
    return out


def linalg_matrix_norm__str_ord(x, ord: str, dim: List[int], keepdim: bool, dtype: Optional[int]):
    assert ord == "fro" or ord == "nuc", "linalg.matrix_norm: Order {} not supported.".format(ord)
    if ord == "fro":
        return torch.linalg_vector_norm(x, 2, dim, keepdim, dtype=dtype)
    return singular_norm(x if dtype is None else x.to(dtype), "nuc", dim, keepdim)


def singular_norm(x, kind: str, dim: List[int], keepdim: bool):
    values = torch.linalg_svdvals(torch.movedim(x, dim, [-2, -1]))
    if kind == "nuc":
        out = torch.sum(values, [-1])
    elif kind == "2":
        out = torch.amax(values, [-1])
    else:
        out = torch.amin(values, [-1])
    if keepdim:
        dims = [dim[0] + x.dim() if dim[0] < 0 else dim[0], dim[1] + x.dim() if dim[1] < 0 else dim[1]]
        out = out.unsqueeze(min(dims)).unsqueeze(max(dims))
    return out


def linalg_matrix_norm(x, ord: number, dim: List[int], keepdim: bool, dtype: Optional[int]):
    assert len(dim) == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got {}".format(dim)
    p = float(ord)
    assert abs(p) == 1 or abs(p) == 2 or abs(p) == float("inf"), "linalg.matrix_norm: Order {} not supported.".format(p)
    at = x if dtype is None else x.to(dtype)
    if abs(p) == 2:
        return singular_norm(at, "2" if p > 0 else "-2", dim, keepdim)
    rows, columns = dim[0] + x.dim() if dim[0] < 0 else dim[0], dim[1] + x.dim() if dim[1] < 0 else dim[1]
    if abs(p) != 1:
        rows, columns = columns, rows
    sums = torch.linalg_vector_norm(at, 1, [rows], keepdim)
    if rows < columns and not keepdim:
        columns -= 1
    return torch.amax(sums, [columns], keepdim) if p > 0 else torch.amin(sums, [columns], keepdim)


def linalg_norm__ord_str(x, ord: str, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]):
    if dim is None:
        assert x.dim() == 2, "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {}D.".format(x.dim())
        return linalg_matrix_norm__str_ord(x, ord, [0, 1], keepdim, dtype)
    return linalg_matrix_norm__str_ord(x, ord, dim, keepdim, dtype)


def linalg_norm(x, ord: Optional[number], dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]):
    assert dim is None or len(dim) == 1 or len(dim) == 2, "linalg.norm: If dim is specified, it must be of length 1 or 2. Got {}".format(dim)
    if ord is None:
        return torch.linalg_vector_norm(x, 2, dim, keepdim, dtype=dtype)
    if dim is not None and len(dim) == 2:
        return linalg_matrix_norm(x, ord, dim, keepdim, dtype)
    if dim is None:
        assert x.dim() == 1 or x.dim() == 2, "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {}D.".format(x.dim())
        if x.dim() == 2:
            return linalg_matrix_norm(x, ord, [0, 1], keepdim, dtype)
    return torch.linalg_vector_norm(x, ord, dim, keepdim, dtype=dtype)


def vdot(x, y):
    return torch.dot(torch.conj_physical(x) if torch.is_complex(x) else x, y)


def trace(x):
    assert x.dim() == 2, "trace: expected a matrix, but got tensor with dim {}".format(x.dim())
    return torch.sum(torch.diagonal(x, 0, 0, 1))


def addr(x, vec1, vec2, beta: number, alpha: number):
    """With a beta of 0, x is ignored, even its NaN. An alpha of 0 is a factor like others."""
    assert vec1.dim() == 1, "addr: Expected 1-D argument vec1, but got {}-D".format(vec1.dim())
    assert vec2.dim() == 1, "addr: Expected 1-D argument vec2, but got {}-D".format(vec2.dim())
    dtype = torch.promote_types(x.dtype, torch.promote_types(vec1.dtype, vec2.dtype))
    old = torch.expand(x, [vec1.size(0), vec2.size(0)]).to(dtype)
    b, a = torch.full([], beta, dtype=dtype), torch.full([], alpha, dtype=dtype)
    if dtype == torch.bool:
        return torch.logical_or(torch.logical_and(b, old), torch.logical_and(torch.logical_and(a, vec1.unsqueeze(1)), vec2))
    out = (a * vec1.to(dtype)).unsqueeze(1) * vec2.to(dtype)
    return b * old + out if bool(b != 0) else out


def _int_mm(x, other):
    assert x.dim() == 2, "int_mm_out_cpu: Expected self to be of dimension 2 but got {}".format(x.dim())
    assert other.dim() == 2, "int_mm_out_cpu: Expected mat2 to be of dimension 2 but got {}".format(other.dim())
    assert x.dtype == torch.int8 and other.dtype == torch.int8, "int_mm_out_cpu: Expected self and mat2 to be of type int8"
    return torch.mm(x.to(torch.int32), other.to(torch.int32))
