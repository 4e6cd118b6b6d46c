"""Runs torch.jit.trace on a model, with the patches that it needs."""

import copy
import operator
import os
import warnings

import torch
from torch.utils import _pytree as pytree

from ..base import core, torch_messages
from ..base.errors import RushlightError
from ..base.user_frame import warn_user
from . import inputs, patches, refusals, trace_outputs
from .captured import TraceWarning
from .model_state import evaluation_mode, restored_state

_FOLDER = os.path.dirname(__file__) + os.sep


def traced(model, example_inputs, train, record=None, extra=(), only_read=()):
    """Traces a model, again with other patches if PyTorch refuses it for a reason that a patch removes.

    Args:
        record: takes the model and copies of the inputs, and returns the trace: by default that of forward
        extra: keys of further patches
        only_read: weights that the model does not write

    Returns:
        (ScriptModule or ScriptFunction, [TraceWarning], notes for the report)

    Raises:
        RushlightError: PyTorch refuses the model, and there is a remedy
        Exception: any error that the model raises
    """
    keys, calls_len, record = ["len"], False, record or recorder()
    while True:
        results = {}
        try:
            return _traced_with([*extra, *keys], results, model, example_inputs, train, record, only_read)
        except Exception as error:
            calls_len = calls_len or bool(results.get("len"))
            more = [key for key in torch_messages.patches_for(error) if key not in keys]
            if not more and not (calls_len and "len" in keys):
                raise _with_remedy(error, example_inputs)
            if not more:
                keys.remove("len")  # the length may have to be a number
            keys += more


def _with_remedy(error, given):
    known = isinstance(error, RuntimeError) and not isinstance(error, RushlightError)
    explained = refusals.explained_refusal(error, given) if known else None
    if explained is None:
        return error
    explained.__cause__ = error
    return explained


def _traced_with(keys, results, model, example_inputs, train, record, only_read):
    with warnings.catch_warnings(record=True) as caught, patches.applied(model, patches.RUN), evaluation_mode(model, train), \
            restored_state(model, only_read) as (replaced, new_data):
        warnings.simplefilter("always")
        given = copy.deepcopy(tuple(example_inputs))  # the model may write them
        with patches.applied(model, [*patches.TRACE, *keys], results):
            script = record(model, given)
    _set_data(script, new_data)
    return script, [*_state_warnings(replaced, new_data), *_issued(caught)], list(dict.fromkeys(results["fast path"]))


def _set_data(script, new_data):
    """Gives the traced module the data that the model gave its parameters. The trace shares the parameters with the model."""
    for path, data in new_data.items():
        owner, _, name = path.rpartition(".")
        script.get_submodule(owner)._c.setattr(name, data.clone())


def _state_warnings(replaced, new_data):
    texts = [f"tracing does not record that the model replaces '{name}': write into it (copy_), or script the model" for name in replaced]
    texts += [f"tracing does not record that the model replaces the data of '{name}': the file keeps the example's" for name in new_data]
    for text in texts:
        warn_user(text, torch.jit.TracerWarning)
    return [TraceWarning("", text) for text in texts]


def _issued(caught):
    """Returns the tracer's warnings about lines of the model, each issued again once."""
    found = {}
    for w in caught:
        # PyTorch's warnings about its own argument checks fix nothing.
        inside = "-packages/torch/" in w.filename or w.filename.startswith(_FOLDER)
        if issubclass(w.category, torch.jit.TracerWarning) and not inside:
            place, message = f"{core.stored_path(w.filename)}:{w.lineno}", str(w.message).splitlines()[0]
            warning = TraceWarning(place, message, torch_messages.concerns_int(message))
            if warning not in found:
                found[warning] = None
                warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return list(found)


def recorder(names=None, reference=None):
    """Returns a function that traces forward.

    Args:
        names: names of the inputs, as inputs.positional gives them
        reference: a result of model_state.reference_of. If its answer has a number, the trace's answer has a number in this place
    """
    return lambda model, given: _jit_traced(model, given, names, reference)


def _jit_traced(model, given, names, reference):
    before = copy.deepcopy(given)

    def answer():
        return reference("forward", copy.deepcopy(before)) if reference else None

    if names and not inputs.accepts_names(model, names, given):
        try:
            return trace_outputs.traced(model, before, names, answer())
        except trace_outputs.NoType as error:
            raise refusals.result_error(error) from error
    try:
        script = _trace_directly(model, given, names)
        if not trace_outputs.has_numbers(script, answer):
            return script
    except RuntimeError as error:
        if not torch_messages.concerns_result(error):
            raise
        try:
            return trace_outputs.traced(model, before, names, answer())
        except trace_outputs.NoType:
            raise error from None
    try:
        return trace_outputs.traced(model, before, names, answer())
    except trace_outputs.NoType:
        return script


def _trace_directly(model, given, names):
    if names and isinstance(model, torch.nn.Module):
        named = dict(zip(names, _without_shared_tensors(given)))
        return torch.jit.trace(model, example_kwarg_inputs=named, check_trace=False, strict=False)
    function = (lambda *args: inputs.call(model, "forward", args, names)) if names else model
    return torch.jit.trace(function, given, check_trace=False, strict=False)


def _without_shared_tensors(given):
    """Returns the inputs, in which each repetition of a tensor is a copy. The tracer would take two such inputs for one."""
    seen = set()

    def copy_if_repeated(leaf):
        if isinstance(leaf, torch.Tensor) and id(leaf) in seen:
            return copy.deepcopy(leaf)
        seen.add(id(leaf))
        return leaf

    leaves, spec = pytree.tree_flatten(given)
    owned = list(map(copy_if_repeated, leaves))
    return given if all(map(operator.is_, leaves, owned)) else pytree.tree_unflatten(owned, spec)
