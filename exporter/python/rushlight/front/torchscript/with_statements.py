"""`with` calls __enter__ and __exit__ of the object's class."""

from . import graphs
from .types import is_program_class

_KINDS = {"prim::Enter": "__enter__", "prim::Exit": "__exit__"}


def is_silent_context(type_):
    """Returns whether `with` on an object of this type changes no answer, as for gradients and the profiler."""
    name = type_.annotation_str
    return "torch.autograd.grad_mode." in name or "torch.autograd.profiler.record_function" in name


def call_contexts(graph):
    """Replaces `with` on objects of the program's classes by calls. The types of their results are known once they are inlined."""
    if not graphs.has_kind(graph, *_KINDS):
        return False
    found = [node for node in graphs.all_nodes(graph.block()) if node.kind() in _KINDS and _is_called(node.inputsAt(0).type())]
    for node in found:
        with graphs.before(graph, node):
            inputs = [node.inputsAt(0)]
            if node.kind() == "prim::Exit":  # the exception, its value and its traceback are None: after an exception nothing runs
                inputs += [graph.insertConstant(None)] * 3
            call = graphs.add(graph, "prim::CallMethod", inputs, [node.output().type()])
        call.s_("name", _KINDS[node.kind()])
        call.copyMetadata(node)
        graphs.replace(node, call.output())
    return bool(found)


def _is_called(type_):
    return is_program_class(type_) and not is_silent_context(type_)
