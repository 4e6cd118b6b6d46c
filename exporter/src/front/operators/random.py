# As aten/src/ATen/native/Distributions.cpp: random numbers lie in the order of what they are written into


def bernoulli__out(x, generator: Optional[Generator], out):
    return out.resize_(x.size()).bernoulli_(x)


def multinomial__out(x, num_samples: int, replacement: bool, generator: Optional[Generator], out):
    drawn = torch.multinomial(x, num_samples, replacement)
    return out.resize_(drawn.size()).copy_(drawn)


def normal_into(mean, std, out):
    sizes = torch.broadcast_tensors([mean, std])[0].size()
    out.resize_(sizes).normal_(0.0, 1.0)
    return out.mul_(std).add_(mean)


def normal__Tensor_Tensor_out(mean, std, generator: Optional[Generator], out):
    return normal_into(mean, std, out)


def normal__Tensor_float_out(mean, std: float, generator: Optional[Generator], out):
    return normal_into(mean, torch.full([], std, dtype=mean.dtype), out)


def normal__float_Tensor_out(mean: float, std, generator: Optional[Generator], out):
    return normal_into(torch.full([], mean, dtype=std.dtype), std, out)


def normal__float_float_out(mean: float, std: float, size: List[int], generator: Optional[Generator], out):
    return out.resize_(size).normal_(mean, std)


def rand__out(size: List[int], out):
    return out.resize_(size).uniform_(0.0, 1.0)


def randn__out(size: List[int], out):
    return out.resize_(size).normal_(0.0, 1.0)


def randint__out(high: int, size: List[int], out):
    return out.resize_(size).random_(0, high)


def randint__low_out(low: int, high: int, size: List[int], out):
    return out.resize_(size).random_(low, high)


def randperm__out(n: int, out):
    return out.resize_([n]).copy_(torch.randperm(n, dtype=out.dtype))


def _no_grad_uniform_(tensor, a: float, b: float, generator: Optional[Generator]):
    return tensor.uniform_(a, b)


def _no_grad_normal_(tensor, mean: float, std: float, generator: Optional[Generator]):
    return tensor.normal_(mean, std)
