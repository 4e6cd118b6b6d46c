# Gradients of losses with margins, and of connectionist temporal classification (LossMultiMargin.cpp, LossMultiLabelMargin.cpp,
# LossCTC.cpp).


def share_of_rows(rows, grad_output, reduction: int):
    """Returns the share of one position of a row in the gradient."""
    share = 1.0 / (rows.size(0) * rows.size(1)) if reduction == 1 else 1.0 / rows.size(1)
    return grad_output.reshape([-1, 1]) * share


def multi_margin_loss_backward(grad_output, x, target, p: number, margin: number, weight: Optional[Tensor], reduction: int):
    assert p == 1 or p == 2, "only p == 1 and p == 2 supported"
    rows = x.reshape([-1, x.size(-1)]) if x.dim() > 0 else x.reshape([1, 1])
    at = target.reshape([-1, 1])
    assert x.dim() <= 2 and at.size(0) == rows.size(0), "inconsistent target size, expected {} but got {}".format(rows.size(0), target.size())
    z = float(margin) - torch.gather(rows, 1, at) + rows
    slope = (z > 0).to(x.dtype) if p == 1 else 2 * torch.clamp_min(z, 0)
    if weight is not None:
        slope = slope * torch.index_select(weight, 0, at.flatten()).unsqueeze(1)
    slope = torch.scatter(slope, 1, at, 0.0)
    slope = torch.scatter(slope, 1, at, -torch.sum(slope, [1], True))
    return (slope * share_of_rows(rows, grad_output, reduction)).reshape(x.size())


def multilabel_margin_loss_backward(grad_output, x, target, reduction: int, is_target):
    assert x.dim() <= 2 and x.size() == target.size(), "inconsistent target size: {} for input of size: {}".format(target.size(), x.size())
    width = x.size(-1) if x.dim() > 0 else 1
    rows, labels = x.reshape([-1, width]), target.reshape([-1, width])
    counts, chosen = mask_labels(labels)
    others = (is_target.reshape([-1, width]) == 0).unsqueeze(1)
    z = 1 - torch.gather(rows, 1, chosen).unsqueeze(2) + rows.unsqueeze(1)
    used = torch.logical_and(torch.logical_and(counts.unsqueeze(2), others), z > 0).to(x.dtype)
    slope = torch.scatter_add(torch.sum(used, [1]), 1, chosen, -torch.sum(used, [2]))
    return (slope * share_of_rows(rows, grad_output, reduction)).reshape(x.size())


def ctc_targets(targets, target_lengths: List[int]):
    """Returns the labels of each target."""
    own: List[Tensor] = []
    begin = 0
    for b in range(len(target_lengths)):
        n = target_lengths[b]
        own.append(targets[begin:begin + n] if targets.dim() == 1 else targets[b][:n])
        begin += n
    return own


def _ctc_loss(log_probs, targets, input_lengths: List[int], target_lengths: List[int], blank: int, zero_infinity: bool):
    """Returns (loss of each target, alphas as [target, time, state]). Elements that PyTorch leaves unset are minus infinity."""
    check_ctc(log_probs, input_lengths, target_lengths, blank)
    labels = ctc_targets(targets, target_lengths)
    width = 1
    for n in target_lengths:
        width = max(width, 2 * n + 1)
    losses: List[Tensor] = []
    alphas: List[Tensor] = []
    for b in range(log_probs.size(1)):
        own = ctc_alphas(log_probs[:input_lengths[b], b], labels[b], blank)
        losses.append(ctc_of_alphas(own))
        alphas.append(torch.constant_pad_nd(own, [0, width - own.size(1), 0, log_probs.size(0) - own.size(0)], -float("inf")))
    return torch.stack(losses), torch.stack(alphas)


def _ctc_loss__Tensor(log_probs, targets, input_lengths, target_lengths, blank: int, zero_infinity: bool):
    return _ctc_loss(log_probs, targets, int_list_of(input_lengths), int_list_of(target_lengths), blank, zero_infinity)


def ctc_betas(logs, labels, blank: int):
    """Returns the alphas of the reversed sequence."""
    return torch.flip(ctc_alphas(torch.flip(logs, [0]), torch.flip(labels, [0]), blank), [0, 1])


def ctc_backward_of_one(g, logs, labels, loss, alphas, blank: int):
    """Has the form [time, class]."""
    states = ctc_states(labels, blank)
    both = alphas[:logs.size(0), :states.size(0)] + ctc_betas(logs, labels, blank)
    of_class = states.unsqueeze(1) == torch.arange(logs.size(1))
    apart = torch.where(of_class, both.unsqueeze(2), torch.full([], -float("inf"), dtype=logs.dtype))
    return (torch.exp(logs) - torch.exp(torch.logsumexp(apart, [1]) + loss - logs)) * g


def _ctc_loss_backward(grad, log_probs, targets, input_lengths: List[int], target_lengths: List[int], neg_log_likelihood, log_alpha, blank: int, zero_infinity: bool):
    labels = ctc_targets(targets, target_lengths)
    parts: List[Tensor] = []
    for b in range(log_probs.size(1)):
        n = input_lengths[b]
        own = torch.zeros([0, log_probs.size(2)], dtype=log_probs.dtype)
        if n > 0:
            own = ctc_backward_of_one(grad[b], log_probs[:n, b], labels[b], neg_log_likelihood[b], log_alpha[b], blank)
        if zero_infinity:
            own = torch.where(neg_log_likelihood[b] == float("inf"), torch.zeros_like(own), own)
        parts.append(torch.constant_pad_nd(own, [0, 0, 0, log_probs.size(0) - n], 0))
    return torch.stack(parts, 1)


def _ctc_loss_backward__Tensor(grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank: int, zero_infinity: bool):
    return _ctc_loss_backward(grad, log_probs, targets, int_list_of(input_lengths), int_list_of(target_lengths), neg_log_likelihood, log_alpha, blank, zero_infinity)
