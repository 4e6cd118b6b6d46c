"""Freezes the methods of a module: attributes that nothing writes become constants."""

import torch

from ...base.errors import unsupported
from . import copies, graphs
from .attribute_reads import narrow_matrices

INNER = "m"  # the attribute of the wrapper that is the model


def freeze(module, methods, train):
    """Returns a frozen module whose attribute INNER is the model. Its methods have these graphs.

    libtorch freezes modules alone. The wrapper is a module of its own class, so that the model's methods stay unchanged.

    Args:
        methods: {name: graph}, in which all calls are inlined

    Raises:
        RushlightError: libtorch cannot freeze it
    """
    inner = copies.shallow(module, train)
    wrapper = torch._C.ScriptModule("__torch__.Wrapper", torch._C.CompilationUnit(), True)
    wrapper._register_attribute(INNER, inner._type(), inner)
    shared, kept = _Shared(inner), []
    for name, graph in methods.items():
        wrapper._define(torch._C.ConcreteModuleType.from_jit_type(wrapper._type()), f"def {name}(self):\n    pass\n", lambda name: None)
        _fill(wrapper._get_method(name).graph, graph, inner._type())
        shared.read_by_one_path(wrapper._get_method(name).graph)
        kept += narrow_matrices(wrapper, wrapper._get_method(name).graph)
    try:
        return torch._C._freeze_module(wrapper, [*(name for name in methods if name != "forward"), *dict.fromkeys(kept)])
    except RuntimeError as error:
        raise unsupported(f"libtorch cannot freeze this model: {error}") from error


def _fill(own, graph, inner_type):
    """Puts the nodes of a method's graph into the empty graph of the wrapper's."""
    wrapper = next(own.inputs())
    _, *inputs = graph.inputs()
    values = []
    for value in inputs:
        taken = own.addInput()
        taken.setType(value.type())
        graphs.keep_name(taken, value)
        values.append(taken)
    model = graphs.get_attr(own, wrapper, INNER, inner_type)
    results = graphs.insert_graph(own, graph, [model, *values])
    own.return_node().replaceInput(0, results[0])


class _Shared:
    """Modules that have several paths. Freezing copies a module for each path, so that graphs must read it by one."""

    def __init__(self, inner):
        known = copies.addresses(inner)
        self.first = {}  # {address: first path}
        for path, address in known.items():
            self.first.setdefault(address, path)
        self.known = known if len(self.first) < len(known) else {}

    def read_by_one_path(self, graph):
        if not self.known:
            return
        paths = {}
        for node in graphs.all_nodes(graph.block()):
            if node.kind() != "prim::GetAttr":
                continue
            of, name = node.inputsAt(0), node.s("name")
            if of.unique() == next(graph.inputs()).unique():
                model = node.output()
                paths[model.unique()] = ""
            elif of.unique() in paths:
                path = f"{paths[of.unique()]}.{name}".lstrip(".")
                if path in self.known:
                    first = self.first[self.known[path]]
                    paths[node.output().unique()] = first
                    if first != path:
                        self._read(graph, node, model, first)

    @staticmethod
    def _read(graph, node, value, path):
        """Reads the module of this path in the model `value` in place of the node's."""
        *outer, last = path.split(".")
        with graphs.before(graph, node):
            for name in outer:
                concrete = torch._C.ConcreteModuleType.from_jit_type(value.type())
                type_ = next(inner.jit_type for of, inner in concrete.get_modules() if of == name)
                value = graphs.get_attr(graph, value, name, type_)
        node.s_("name", last)
        node.replaceInput(0, value)
