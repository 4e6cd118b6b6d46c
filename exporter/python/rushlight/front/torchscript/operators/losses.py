# Follows aten/src/ATen/native/Loss.cpp, LossNLL.cpp, LossMultiMargin.cpp, LossMultiLabelMargin.cpp, LossCTC.cpp


def reduce_loss(loss, reduction: int):
    if reduction == 1:
        return torch.mean(loss)
    if reduction == 2:
        return torch.sum(loss)
    return loss


def rounded_like(x, value: float) -> float:
    """Returns a number as an element of x."""
    return float(torch.full([], value, dtype=x.dtype))


def as_out_of(x, loss):
    """Returns the tensor that PyTorch writes into empty_like(x), which it enlarges if the other tensor is larger."""
    if x.size() == loss.size():
        return torch.empty_like(x).copy_(loss)
    return loss.contiguous()


def mse_loss(x, target, reduction: int):
    return reduce_loss(torch.square(x - target), reduction)


def l1_loss(x, target, reduction: int):
    return reduce_loss(torch.abs(x - target), reduction)


def smooth_l1(z, beta: float):
    return torch.where(z < beta, z * z * 0.5 / beta, z - 0.5 * beta) if beta > 0 else z


def smooth_l1_loss(x, target, reduction: int, beta: float):
    assert beta >= 0, "smooth_l1_loss does not support negative values for beta."
    if x.dtype == torch.bfloat16:  # only this dtype is rounded once
        return reduce_loss(smooth_l1(torch.abs(x.to(torch.float32) - target.to(torch.float32)), beta).to(x.dtype), reduction)
    return reduce_loss(smooth_l1(torch.abs(x - target), rounded_like(x, beta)), reduction)


def huber_loss(x, target, reduction: int, delta: float):
    assert delta > 0, "huber_loss does not support non-positive values for delta."
    z, delta = torch.abs(x - target), rounded_like(x, delta)
    loss = torch.where(z < delta, z * z * 0.5, (z - 0.5 * delta) * delta)
    return reduce_loss(as_out_of(x, loss) if reduction == 0 else loss, reduction)


def kl_div(x, target, reduction: int, log_target: bool):
    if log_target:
        return reduce_loss(torch.exp(target) * (target - x), reduction)
    return reduce_loss(torch.xlogy(target, target) - target * x, reduction)


def binary_cross_entropy(x, target, weight: Optional[Tensor], reduction: int):
    assert bool(torch.all((x >= 0) & (x <= 1))), "all elements of input should be between 0 and 1"
    loss = (target - 1) * torch.clamp_min(torch.log1p(-x), -100) - target * torch.clamp_min(torch.log(x), -100)
    if weight is not None:
        loss = loss * weight
    return reduce_loss(as_out_of(x, loss) if reduction == 0 else loss, reduction)


def binary_cross_entropy_with_logits(x, target, weight: Optional[Tensor], pos_weight: Optional[Tensor], reduction: int):
    log_sigmoid = torch.log_sigmoid(x)
    if pos_weight is not None:
        log_sigmoid = log_sigmoid * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * x - log_sigmoid
    if weight is not None:
        loss = loss * weight
    return reduce_loss(loss, reduction)


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
        smooth = reduce_loss(smooth, reduction)
    return nll * (1 - label_smoothing) + smooth * (label_smoothing / x.size(dim))


def margin_ranking_loss(x, other, target, margin: float, reduction: int):
    assert x.dim() == other.dim() and x.dim() == target.dim(), "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {}, input2: {}, target: {} ".format(x.size(), other.size(), target.size())
    return reduce_loss(torch.clamp_min(-target * (x - other) + margin, 0), reduction)


def hinge_embedding_loss(x, target, margin: float, reduction: int):
    zeros = torch.zeros_like(x)
    apart_loss = torch.where(target != 1, torch.clamp_min(margin - x, 0), zeros)
    return reduce_loss(apart_loss + torch.where(target != -1, x, zeros), reduction)


def soft_margin_loss(x, target, reduction: int):
    return reduce_loss(torch.log1p(torch.exp(-target * x)), reduction)


def cosine_embedding_loss(x, other, target, margin: float, reduction: int):
    assert target.dim() == 0 or target.dim() == 1, "0D or 1D target tensor expected, multi-target not supported"
    assert x.dim() == target.dim() + 1 and other.dim() == target.dim() + 1, "{}D target tensor expects {}D input tensors, but found inputs with sizes {} and {}.".format(target.dim(), target.dim() + 1, x.size(), other.size())
    dim = target.dim()
    product = torch.sum(x * other, [dim])
    squares, others = torch.sum(x * x, [dim]) + 1e-12, torch.sum(other * other, [dim]) + 1e-12
    cosine = product / torch.sqrt(squares * others)
    zeros = torch.zeros_like(cosine)
    loss = torch.where(target == 1, 1 - cosine, zeros) + torch.where(target == -1, torch.clamp_min(cosine - margin, 0), zeros)
    return reduce_loss(loss, reduction)


def triplet_margin_loss(anchor, positive, negative, margin: float, p: float, eps: float, swap: bool, reduction: int):
    assert anchor.dim() == positive.dim() and positive.dim() == negative.dim(), "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor {}D, positive {}D, and negative {}D inputs".format(anchor.dim(), positive.dim(), negative.dim())
    near = pairwise_distance(anchor, positive, p, eps, False)
    far = pairwise_distance(anchor, negative, p, eps, False)
    if swap:
        far = torch.minimum(far, pairwise_distance(positive, negative, p, eps, False))
    return reduce_loss(torch.clamp_min(margin + near - far, 0), reduction)


def poisson_nll_loss(x, target, log_input: bool, full: bool, eps: float, reduction: int):
    loss = torch.exp(x) - target * x if log_input else x - target * torch.log(x + eps)
    if full:
        stirling = target * torch.log(target) - target + 0.5 * torch.log(target * 6.283185307179586)
        loss = loss + torch.masked_fill(stirling, target <= 1, 0)
    return reduce_loss(loss, reduction)


def multi_margin_loss(x, target, p: number, margin: number, weight: Optional[Tensor], reduction: int):
    assert p == 1 or p == 2, "only p == 1 and p == 2 supported"
    rows = x.reshape([-1, x.size(-1)]) if x.dim() > 0 else x.reshape([1, 1])
    at = target.reshape([-1, 1])
    assert x.dim() <= 2 and at.size(0) == rows.size(0), "inconsistent target size, expected {} but got {}".format(rows.size(0), target.size())
    z = torch.clamp_min(float(margin) - torch.gather(rows, 1, at) + rows, 0)
    if p == 2:
        z = z * z
    if weight is not None:
        z = z * torch.index_select(weight, 0, at.flatten()).unsqueeze(1)
    loss = torch.sum(torch.scatter(z, 1, at, 0.0), 1) / rows.size(1)
    if reduction == 0 and target.dim() == 0:
        return loss.reshape([])
    return reduce_loss(loss, reduction)


def mask_labels(labels):
    """Returns (mask of the labels before the first negative one, labels with 0 in place of all others)."""
    counts = torch.cumsum(labels < 0, 1) == 0
    return counts, torch.where(counts, labels, torch.zeros_like(labels))


def multilabel_margin_loss_forward(x, target, reduction: int):
    assert x.dim() <= 2 and x.size() == target.size(), "inconsistent target size: {} for input of size: {}".format(target.size(), x.size())
    width = x.size(-1) if x.dim() > 0 else 1
    rows, labels = x.reshape([-1, width]), target.reshape([-1, width])
    counts, chosen = mask_labels(labels)
    is_target = torch.scatter_add(torch.zeros_like(labels), 1, chosen, counts.to(torch.int64)) > 0
    z = torch.clamp_min(1 - torch.gather(rows, 1, chosen).unsqueeze(2) + rows.unsqueeze(1), 0)
    used = torch.logical_and(counts.unsqueeze(2), torch.logical_not(is_target).unsqueeze(1))
    loss = torch.sum(torch.where(used, z, torch.zeros_like(z)), [1, 2]) / width
    marks = is_target.to(x.dtype).reshape(target.size())
    if reduction == 0 and x.dim() < 2:
        return loss.reshape([]), marks
    return reduce_loss(loss, reduction), marks


def multilabel_margin_loss(x, target, reduction: int):
    return multilabel_margin_loss_forward(x, target, reduction)[0]


def ctc_states(labels, blank: int):
    """Returns the labels with a blank around each."""
    states = torch.full([2 * labels.size(0) + 1], blank, dtype=torch.int64)
    if labels.size(0) > 0:
        states[1::2] = labels
    return states


def ctc_alphas(logs, labels, blank: int):
    """Returns [time, state], from [time, class] logarithms and the labels of one target."""
    n = labels.size(0)
    states = ctc_states(labels, blank)
    if logs.size(0) == 0:
        return torch.zeros([0, 2 * n + 1], dtype=logs.dtype)
    logs = torch.index_select(logs, 1, states)
    never = torch.full([2], -float("inf"), dtype=logs.dtype)
    skips = torch.zeros([2 * n + 1], dtype=torch.bool)
    if n > 0:
        skips[2:] = states[2:] != states[:-2]
    alpha = torch.cat([logs[0][:2], torch.full([max(2 * n - 1, 0)], -float("inf"), dtype=logs.dtype)])
    alphas = [alpha]
    for t in range(1, logs.size(0)):
        before = torch.cat([never, alpha])
        skipped = torch.masked_fill(before[:2 * n + 1], torch.logical_not(skips), -float("inf"))
        alpha = torch.logsumexp(torch.stack([alpha, before[1:2 * n + 2], skipped]), [0]) + logs[t]
        alphas.append(alpha)
    return torch.stack(alphas)


def ctc_of_alphas(alphas):
    """Returns the loss of one target."""
    if alphas.size(0) == 0:
        return torch.full([], 0.0 if alphas.size(1) == 1 else float("inf"), dtype=alphas.dtype)
    return -torch.logsumexp(alphas[-1][-2:], [0])


def check_ctc(batched, input_lengths: List[int], target_lengths: List[int], blank: int):
    assert blank >= 0 and blank < batched.size(2), "blank must be in label range"
    assert len(input_lengths) == batched.size(1), "input_lengths must be of size batch_size"
    assert len(target_lengths) == batched.size(1), "target_lengths must be of size batch_size"
    for n in input_lengths:
        assert n <= batched.size(0), "Expected input_lengths to have value at most {}, but got value {} (while checking arguments for ctc_loss_cpu)".format(batched.size(0), n)


def int_list_of(lengths) -> List[int]:
    flat = lengths.reshape([-1])
    return [int(flat[i]) for i in range(flat.numel())]


def ctc_loss__IntList(log_probs, targets, input_lengths: List[int], target_lengths: List[int], blank: int, reduction: int, zero_infinity: bool):
    batched = log_probs if log_probs.dim() == 3 else log_probs.unsqueeze(1)
    loss = _ctc_loss(batched, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = torch.where(loss == float("inf"), torch.zeros_like(loss), loss)
    if reduction == 1:
        return torch.mean(loss / torch.clamp_min(torch.tensor(target_lengths), 1).to(loss.dtype))
    if reduction == 2:
        return torch.sum(loss)
    return loss if log_probs.dim() == 3 else loss.squeeze(0)


def ctc_loss__Tensor(log_probs, targets, input_lengths, target_lengths, blank: int, reduction: int, zero_infinity: bool):
    return ctc_loss__IntList(log_probs, targets, int_list_of(input_lengths), int_list_of(target_lengths), blank, reduction, zero_infinity)
