"""Weights that torchao quantized, which are objects made of several tensors."""

import copy

import torch


def with_plain_weights(model):
    """Returns a module, or a copy in which each weight of torchao is a parametrization by plain tensors: integers, and their scales."""
    if not isinstance(model, torch.nn.Module) or not any(map(_is_of_torchao, model.parameters())):
        return model
    from torchao.utils import unwrap_tensor_subclass

    return unwrap_tensor_subclass(copy.deepcopy(model))


def _is_of_torchao(parameter):
    return type(parameter).__module__.partition(".")[0] == "torchao"
