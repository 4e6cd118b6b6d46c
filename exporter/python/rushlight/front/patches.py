"""Everything that is replaced in PyTorch while a model is captured: one table, applied and undone under one lock.

Each patch ends with the `with` block that applied it. A replaced function acts in the calling thread alone; other threads keep
PyTorch's own (`patch_attribute.py`).
"""

import contextlib
from typing import Callable, NamedTuple

from ..base.lock import PYTORCH_LOCK
from . import fast_path, flex_attention, function_modes, make_fx_patches, trace_patches


class Patch(NamedTuple):
    """A row of the table."""

    replaces: str
    """The attribute of PyTorch, Python or another library; "" for a TorchFunctionMode, which replaces arguments of calls."""
    reason: str
    apply: Callable
    """Takes the model and gives a context manager."""
    torch: str = "2.6 and later"
    """The versions that need it."""


PATCHES = {
    "compiled modules": Patch(
        "nn.Module._modules, nn.Module._compiled_call_impl, torch.compiler.set_stance",
        "the tracer cannot record code that torch.compile made", trace_patches.uncompiled),
    "autograd functions": Patch(
        "torch.autograd.Function.apply", "a trace keeps apply() as one call of Python", trace_patches.traced_autograd_functions),
    "data": Patch("torch.Tensor.data", "the tracer does not record x.data", trace_patches.traced_data),
    "flex_attention": Patch(
        "flex_attention_hop, _create_empty_block_mask, torch.compile", "flex_attention compiles itself",
        flex_attention.traced_flex_attention),
    "masks": Patch(
        "transformers.masking_utils._vmap_for_bhqkv", "vmap fixes the example's sizes", trace_patches.traced_transformers_masks),
    "autocast": Patch(
        "torch.autocast.__enter__", "a trace records the casts of autocast and not its name", trace_patches.refused_autocast),
    "exported methods": Patch(
        "torch._jit_internal.module_has_exports", "torch.jit.trace compiles methods that are marked with torch.jit.export",
        trace_patches.without_exported_methods),
    "backward hooks": Patch(
        "nn.Module._backward_hooks", "torch.jit.trace refuses modules with gradient hooks", trace_patches.without_backward_hooks),
    "tensor names": Patch(
        "nn.Module._parameters, nn.Module._buffers", "torch.jit.trace refuses a tensor that a module has by two names",
        trace_patches.one_name_per_tensor),
    "gradient sizes": Patch(
        "torch.fx.experimental.symbolic_shapes.sym_eq", "torch.autograd.grad compares sizes, which are tensors in a trace",
        trace_patches.traced_gradient_sizes),
    "number methods": Patch(
        "torch.Tensor.__round__, is_integer, bit_length, astype", "sizes are tensors in a trace, and the model uses them as numbers",
        trace_patches.number_methods),
    "fast path": Patch(
        "nn.TransformerEncoder.forward, torch.backends.mha.set_fastpath_enabled",
        "the fast path of nn.TransformerEncoder has no operators of its own", fast_path.without_fast_path),
    "refused gradients": Patch(
        "torch.autograd._make_grads", "the tracer does not see what autograd does inside an operator",
        make_fx_patches.refused_gradients),
    "stack traces": Patch(
        "PythonKeyTracer.record_stack_traces", "make_fx does not record Python lines by default", make_fx_patches.stack_traces),
    "margin loss": Patch(
        "torch.ops.aten.multilabel_margin_loss_forward.default.py_kernels",
        "PyTorch's Python version counts the labels behind the first -1, too", make_fx_patches.without_python_margin_loss),
    "len": Patch("builtins.len", "len(x) of a tensor is the example's size in a trace", trace_patches.traced_len),
    "bools": Patch("", "the tracer cannot record a bool where an operator takes a number", lambda _: function_modes.BoolsAsNumbers()),
    "lists": Patch("", "PyTorch makes an empty list of a size that is a tensor", lambda _: function_modes.SizesAsLists()),
    "comparisons": Patch("", "an operator takes a bool and gets a comparison of sizes, which is a tensor in a trace",
                         lambda _: function_modes.ComparisonsAsBools()),
    "constants": Patch("", "the tracer refuses tensors that require gradients and belong to no module",
                       lambda _: function_modes.TensorsAsConstants()),
    "compiled functions": Patch(
        "torch.fx._symbolic_trace._is_fx_tracing_flag", "torch.jit.trace refuses a function that torch.compile made",
        trace_patches.called_compiled_functions),
}

# The patches of each kind of run. "len" and those of torch_messages.REFUSALS come on top for some models.
RUN = ("compiled modules",)
TRACE = ("autograd functions", "data", "flex_attention", "masks", "autocast", "exported methods", "backward hooks", "tensor names",
         "gradient sizes", "number methods", "fast path")
MAKE_FX = (*RUN, "data", "flex_attention", "autocast", "fast path", "stack traces", "margin loss")


@contextlib.contextmanager
def applied(model, keys, results=None):
    """Applies patches in this order. `results`: a dict that gets what each of them gives, by key."""
    with PYTORCH_LOCK, contextlib.ExitStack() as stack:
        for key in keys:
            given = stack.enter_context(PATCHES[key].apply(model))
            if results is not None:
                results[key] = given
        yield
