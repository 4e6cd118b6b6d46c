# Follows aten/src/ATen/native/Distributions.cpp. Random numbers are drawn in the memory order of the result.


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


def log_of_float(x: float) -> float:
    return float(torch.log(torch.full([], x, dtype=torch.float64)))


def rounded_to(x: float, single: bool) -> float:
    """Returns x, rounded to float32 if `single`."""
    return float(torch.full([], x, dtype=torch.float32)) if single else x


def standard_gamma(alpha: float, single: bool) -> float:
    """Draws one number by Marsaglia and Tsang's rejection method. `single` rounds numbers to float32 where PyTorch does."""
    scale = 1.0
    if alpha < 1.0:
        if alpha == 0.0:
            return 0.0
        scale = (1 - float(torch.rand([], dtype=torch.float64))) ** rounded_to(1.0 / alpha, single)
        alpha = rounded_to(alpha + 1.0, single)
    third = 0.3333333432674408  # 1 / 3 in float32
    d = rounded_to(alpha - third, single)
    c = 1.0 / (9.0 * d) ** 0.5
    v, rejected = 0.0, True
    while rejected:
        x, y = 0.0, 0.0
        while y <= 0:
            x = float(torch.randn([], dtype=torch.float64))
            y = 1.0 + c * x
        v = y * y * y
        u = 1 - float(torch.rand([], dtype=torch.float64))
        rejected = u >= 1.0 - 0.0331 * x * x * x * x and log_of_float(u) >= 0.5 * x * x + d * (1.0 - v + log_of_float(v))
    return scale * d * v


def _standard_gamma(x, generator: Optional[Generator]):
    single = x.dtype == torch.float32
    flat, least = x.flatten(), 1.1754943508222875e-38 if single else 2.2250738585072014e-308
    drawn = [max(least, standard_gamma(float(flat[i]), single)) for i in range(flat.numel())]
    return torch.tensor(drawn, dtype=torch.float64).to(x.dtype).view(x.size())


def _sample_dirichlet(x, generator: Optional[Generator]):
    flat, single = x.flatten(), x.dtype == torch.float32
    least = 1.1754943508222875e-38 if single else 2.2250738585072014e-308
    most = 0.9999999403953552 if single else 0.9999999999999999
    drawn = [max(2.2250738585072014e-308, standard_gamma(float(flat[i]), False)) for i in range(flat.numel())]
    gamma = torch.tensor(drawn, dtype=torch.float64).view(x.size())
    return torch.clamp((gamma / gamma.sum([-1], True)).to(x.dtype), least, most)
