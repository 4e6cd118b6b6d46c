# As aten/src/ATen/native/Loss.cpp, LossNLL.cpp


def reduced(loss, reduction: int):
    if reduction == 1:
        return torch.mean(loss)
    if reduction == 2:
        return torch.sum(loss)
    return loss


def written_like(x, loss):
    """What PyTorch writes into empty_like(x), resized where the other tensor is larger."""
    if x.size() == loss.size():
        return torch.empty_like(x).copy_(loss)
    return loss.contiguous()


def mse_loss(x, target, reduction: int):
    return reduced(torch.square(x - target), reduction)


def l1_loss(x, target, reduction: int):
    return reduced(torch.abs(x - target), reduction)


def smooth_l1_loss(x, target, reduction: int, beta: float):
    assert beta >= 0, "smooth_l1_loss does not support negative values for beta."
    z = torch.abs(x - target)
    if beta > 0:
        z = torch.where(z < beta, z * z * 0.5 / beta, z - 0.5 * beta)
    return reduced(z, reduction)


def huber_loss(x, target, reduction: int, delta: float):
    assert delta > 0, "huber_loss does not support non-positive values for delta."
    z = torch.abs(x - target)
    loss = torch.where(z < delta, z * z * 0.5, (z - 0.5 * delta) * delta)
    return reduced(written_like(x, loss) if reduction == 0 else loss, reduction)


def kl_div(x, target, reduction: int, log_target: bool):
    if log_target:
        return reduced(torch.exp(target) * (target - x), reduction)
    return reduced(torch.xlogy(target, target) - target * x, reduction)


def binary_cross_entropy(x, target, weight: Optional[Tensor], reduction: int):
    assert bool(torch.all((x >= 0) & (x <= 1))), "all elements of input should be between 0 and 1"
    loss = (target - 1) * torch.clamp_min(torch.log1p(-x), -100) - target * torch.clamp_min(torch.log(x), -100)
    if weight is not None:
        loss = loss * weight
    return reduced(written_like(x, loss) if reduction == 0 else loss, reduction)


def binary_cross_entropy_with_logits(x, target, weight: Optional[Tensor], pos_weight: Optional[Tensor], reduction: int):
    log_sigmoid = torch.log_sigmoid(x)
    if pos_weight is not None:
        log_sigmoid = log_sigmoid * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * x - log_sigmoid
    if weight is not None:
        loss = loss * weight
    return reduced(loss, reduction)


def nll_loss_forward(x, target, weight: Optional[Tensor], reduction: int, ignore_index: int):
    dim = 0 if x.dim() == 1 else 1
    counts = torch.ne(target, ignore_index)
    chosen = torch.where(counts, target, torch.zeros_like(target))
    weights = torch.ones_like(chosen, dtype=x.dtype) if weight is None else torch.index_select(weight, 0, chosen.flatten()).view(chosen.size())
    weights = torch.where(counts, weights, torch.zeros_like(weights))
    picked = torch.gather(x, dim, chosen.unsqueeze(dim)).squeeze(dim)
    loss = torch.where(counts, -picked * weights, torch.zeros_like(weights))
    total = torch.sum(weights)
    if reduction == 1:
        return torch.sum(loss) / total, total
    if reduction == 2:
        return torch.sum(loss), total
    return loss, total if x.dim() == 1 else torch.zeros_like(total)


def nll_loss2d_forward(x, target, weight: Optional[Tensor], reduction: int, ignore_index: int):
    return nll_loss_forward(x, target, weight, reduction, ignore_index)


def nll_loss_nd(x, target, weight: Optional[Tensor], reduction: int, ignore_index: int):
    return nll_loss_forward(x, target, weight, reduction, ignore_index)[0]


def cross_entropy_loss(x, target, weight: Optional[Tensor], reduction: int, ignore_index: int, label_smoothing: float):
    dim = 0 if x.dim() == 1 else 1
    logs = torch.log_softmax(x, dim)
    sizes = [1 for _ in range(x.dim())]
    sizes[dim] = x.size(dim)
    if x.size() == target.size():
        assert torch.is_floating_point(target), "Expected floating point type for target with class probabilities"
        if label_smoothing > 0:
            target = target * (1 - label_smoothing) + label_smoothing / x.size(dim)
        loss = logs * target
        if weight is not None:
            loss = loss * weight.view(sizes)
        if reduction == 1:
            return -torch.sum(loss) / (float(x.numel()) / x.size(dim) if x.numel() > 0 else float("nan"))
        if reduction == 2:
            return -torch.sum(loss)
        return -torch.sum(loss, dim)
    nll = nll_loss_nd(logs, target, weight, reduction, ignore_index)
    if label_smoothing <= 0:
        return nll
    smooth = -torch.sum(logs if weight is None else logs * weight.view(sizes), dim)
    counts = torch.ne(target, ignore_index)
    smooth = torch.where(counts, smooth, torch.zeros_like(smooth))
    if reduction == 1:
        if weight is None:
            smooth = torch.sum(smooth) / torch.sum(counts)
        else:
            chosen = torch.index_select(weight, 0, torch.masked_select(target, counts))
            smooth = torch.sum(smooth) / torch.sum(chosen)
    else:
        smooth = reduced(smooth, reduction)
    return nll * (1 - label_smoothing) + smooth * (label_smoothing / x.size(dim))
