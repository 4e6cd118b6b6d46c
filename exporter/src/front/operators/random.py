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
