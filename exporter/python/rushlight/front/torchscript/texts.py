"""PyTorch's texts of a model: its graphs, its code and the tree of its modules."""

import torch

from .copies import named_modules
from .hooks import run_hooks
from .source_locations import without_absolute_paths

_GRAPH, _CODE, _TREE = 0, 1, 2  # rush_text_kind


def texts_of_module(module):
    """Returns [(module, kind, text), ...] of each method of each submodule, and the tree."""
    out = []
    for path, inner in named_modules(module):
        for name in inner._method_names():
            method = inner._get_method(name)
            if inner is module and name == "forward":
                method = _with_hooks(method, module)
            out += _texts_of(method, path if name == "forward" else f"{path}:{name}")
    return [*out, ("", _TREE, _tree(module))]


def _with_hooks(method, module):
    """Returns the method with the hooks of its module, which graphs of other modules contain already."""
    graph = method.graph.copy()
    return torch._C._create_function_from_graph(method.name, graph) if run_hooks(graph, module) else method


def texts_of_function(function):
    return _texts_of(function, "")


def _texts_of(function, key):
    return [(key, _GRAPH, without_absolute_paths(function.graph.str())), (key, _CODE, without_absolute_paths(function.code))]


def _tree(module):
    """Prints a module as torch.nn.Module.__repr__ does."""
    own = "original_name=" + module._type().name()
    children = [f"\n  ({name}): " + _tree(child).replace("\n", "\n  ") for name, child in torch._C.ModuleDict(module).items()]
    return f"RecursiveScriptModule(\n  {own}{''.join(children)}\n)" if children else f"RecursiveScriptModule({own})"
