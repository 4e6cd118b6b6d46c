"""`self.layers[i].run(x)` with i known only at run time becomes a choice between the calls of each module's method.

libtorch cannot freeze a graph that looks an attribute up by a computed name.
"""

import torch

from . import graphs

_BOOL = torch._C.BoolType.get()


def choose_modules(graph):
    """Replaces calls on modules from a container by a choice between the calls of each."""
    if not graphs.has_kind(graph, "prim::ModuleContainerIndex"):
        return False
    found = [node for node in graphs.all_nodes(graph.block())
             if node.kind() == "prim::CallMethod" and node.inputsAt(0).node().kind() == "prim::ModuleContainerIndex"]
    for call in found:
        lookup = call.inputsAt(0).node()
        modules = torch._C.ConcreteModuleType.from_jit_type(lookup.inputsAt(0).type()).get_modules()
        created = []
        with graphs.before(graph, call):
            result = _call_one_of(graph, lookup, call, [(name, inner.jit_type) for name, inner in modules], created)
        for node in created:
            node.copyMetadata(call)
        graphs.replace(call, result)
    if found:
        _drop_unused_lookups(graph)
    return bool(found)


def _call_one_of(graph, lookup, call, modules, created):
    """Inserts the call on one of these modules of the container."""
    container, key = lookup.inputs()
    type_ = call.output().type()

    def keep(value):
        created.append(value.node())
        return value

    if not modules:
        what = keep(graph.insert("aten::str", [key]))
        text = keep(graph.insert("aten::add", [keep(graph.insertConstant("the container has no module ")), what]))
        created.append(graphs.add(graph, "prim::RaiseException", [text, keep(graph.insertConstant(None))]))
        return keep(graphs.call(graph, "prim::Uninitialized", [], type_))
    (name, module_type), *rest = modules
    wanted = keep(graph.insertConstant(name if key.type().kind() == "StringType" else int(name)))
    found = keep(graphs.call(graph, "aten::eq", [key, wanted], _BOOL))
    choice = graphs.add(graph, "prim::If", [found], [type_])
    created.append(choice)
    first, second = choice.addBlock(), choice.addBlock()
    with graphs.before(graph, first):
        module = keep(graphs.get_attr(graph, container, name, module_type))
        one = graphs.add(graph, "prim::CallMethod", [module, *list(call.inputs())[1:]], [type_])
        created.append(one)
        one.s_("name", call.s("name"))
        first.registerOutput(one.output())
    with graphs.before(graph, second):
        second.registerOutput(_call_one_of(graph, lookup, call, rest, created))
    return choice.output()


def _drop_unused_lookups(graph):
    """libtorch keeps unused look-ups, as it assumes a side effect."""
    for node in graphs.all_nodes(graph.block()):
        if node.kind() == "prim::ModuleContainerIndex" and not graphs.has_uses(node.output()):
            node.destroy()
