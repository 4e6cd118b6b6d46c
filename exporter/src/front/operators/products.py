# As aten/src/ATen/native/Distance.cpp, Linear.cpp, Cross.cpp, ReduceOps.cpp


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
        ours, theirs = torch.sum(x * x, -1, True), torch.sum(other * other, -1, True)
        a = torch.cat([x * -2, ours, torch.ones_like(ours)], -1)
        b = torch.cat([other, torch.ones_like(theirs), theirs], -1)
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
    ours = [(d + x.dim()) % x.dim() for d in dims_self]
    theirs = [(d + other.dim()) % other.dim() for d in dims_other]
    width = 1
    for k in range(len(ours)):
        a, b = x.size(ours[k]), other.size(theirs[k])
        if b == 1:
            x = torch.sum(x, ours[k], True)
        elif a == 1:
            other = torch.sum(other, theirs[k], True)
        else:
            assert a == b, "contracted dimensions need to match, but first has size {} and second has size {}".format(a, b)
        width *= x.size(ours[k])
    sizes: List[int] = []
    left: List[int] = []
    right: List[int] = []
    rows, columns = 1, 1
    for d in range(x.dim()):
        if d not in ours:
            left.append(d)
            sizes.append(x.size(d))
            rows *= x.size(d)
    for d in range(other.dim()):
        if d not in theirs:
            right.append(d)
            sizes.append(other.size(d))
            columns *= other.size(d)
    a = torch.permute(x, left + ours).reshape([rows, width])
    b = torch.permute(other, theirs + right).reshape([width, columns])
    return torch.mm(a, b).reshape(sizes)


def inner(x, other):
    if x.dim() == 0 or other.dim() == 0:
        return x * other
    assert x.size(-1) == other.size(-1), "inner() the last dimension must match on both input tensors"
    return tensordot(x, other, [-1], [-1])


def kron(x, other):
    rank = max(x.dim(), other.dim())
    ours: List[int] = []
    theirs: List[int] = []
    sizes: List[int] = []
    for d in range(rank):
        a = x.size(d - rank) if d >= rank - x.dim() else 1
        b = other.size(d - rank) if d >= rank - other.dim() else 1
        ours += [a, 1]
        theirs += [1, b]
        sizes.append(a * b)
    return (x.reshape(ours) * other.reshape(theirs)).reshape(sizes)


def bilinear(x, other, weight, bias: Optional[Tensor]):
    assert x.size(-1) == weight.size(1), "bilinear(): input1 size does not match weight size"
    assert other.size(-1) == weight.size(2), "bilinear(): input2 size does not match weight size"
    y = torch.einsum("...i,oij,...j->...o", [x, weight, other])
    return y if bias is None else y + bias


def diff(x, n: int, dim: int, prepend: Optional[Tensor], append: Optional[Tensor]):
    assert x.dim() > 0, "diff expects input to be at least one-dimensional"
    assert n >= 0, "order must be non-negative but got {}".format(n)
    if n == 0:  # whatever stands before and behind
        return x.clone()
    if prepend is not None:
        x = torch.cat([prepend, x], dim)
    if append is not None:
        x = torch.cat([x, append], dim)
    for _ in range(min(n, x.size(dim))):
        many = x.size(dim)
        after, before = torch.narrow(x, dim, 1, many - 1), torch.narrow(x, dim, 0, many - 1)
        x = torch.logical_xor(after, before) if x.dtype == torch.bool else after - before
    return x


def cartesian_prod(tensors: List[Tensor]):
    if len(tensors) == 1:
        return tensors[0]
    return torch.stack([t.flatten() for t in torch.meshgrid(tensors, indexing="ij")], 1)
