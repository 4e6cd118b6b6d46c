"""The calls around inlined nodes.

torch has no function that reads them. A graph with a call of Python in the place of each node runs instead.
"""

import functools
import threading

import torch


def call_stacks(nodes):
    """For each node its function and the calls around it, innermost first: (function, [(file, line, function), ...]). The name of the
    graph itself is "".

    Calls in traced code have no file, and are left out: a traced node has its whole stack as text.
    """
    if not nodes:
        return []
    graph = torch._C.Graph()
    none = graph.insertConstant(None)
    call = _capture_script().graph.findNode("prim::PythonOp")
    for node in nodes:
        graph.insertNode(graph.createClone(call, lambda value: none)).copyMetadata(node)
    graph.registerOutput(none)
    seen = _current.seen = []
    torch._C._jit_interpret_graph(graph, ())
    return [_named(frames) for frames in torch._C._profiler.symbolize_tracebacks(seen)]


def _named(frames):
    calls = [(frame["filename"], frame["line"], _function(frame)) for frame in frames[1:] if frame["filename"] != "??"]
    return _function(frames[0]), calls


def _function(frame):
    return "" if frame["name"] == "<on-demand-func>" else frame["name"]


_current = threading.local()


@torch.jit.ignore
def _capture_stack() -> None:
    _current.seen.append(torch._C._profiler.gather_traceback(False, True, False))


def _capture_function() -> None:
    _capture_stack()


@functools.cache
def _capture_script():
    """Returns a script with the node that calls _capture_stack."""
    return torch.jit.script(_capture_function)
