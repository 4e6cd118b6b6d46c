"""Debug handles number the nodes of PyTorch's unfrozen graph.

A node carries its handle as a source range, which is the only thing that inlining, freezing and unrolling copy with every node.
"""

import itertools
import re

import torch

from . import graphs
from .forks import inline_calls_and_forks
from .source_locations import MARK, own_source, sources_of

# Saving and loading a module may add or share these nodes, which therefore get no number.
_UNNUMBERED = ("prim::Constant", "prim::GetAttr", "prim::Uninitialized")
_RESULT = "rush_result"  # marks a node that replaces a node of another kind
_NUMBER = re.compile(rf'  File "<string>", line (\d+)\n(?:.*\n)*?.*{MARK} (\d+)\n')
_FEW = 256  # marks of one source: PyTorch copies the source for each text of a range


class _Marks:
    """Nodes whose source ranges are numbers."""

    def __init__(self):
        self.nodes, self.unit = [], torch._C.CompilationUnit()

    def __getitem__(self, i):
        while i >= len(self.nodes):
            part = len(self.nodes) // _FEW
            self.unit.define(f"def marks_{part}(x):\n{f'    x = -x  {MARK} {part}{chr(10)}' * _FEW}    return x\n", lambda name: None)
            self.nodes += list(self.unit.find_function(f"marks_{part}").graph.nodes())
        return self.nodes[i]


_marks = _Marks()


def _mark_of(text):
    """Returns the number of the mark that the text of a source range shows, or None if there is none."""
    if MARK not in text:
        return None
    line, part = _NUMBER.match(text).groups()
    return int(part) * _FEW + int(line) - 2


def _fingerprint(nodes):
    """Returns the hash FNV-1a."""
    value = 2166136261
    for byte in itertools.chain.from_iterable(node.kind().encode() for node in nodes):
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


class Handles:
    """The sources and handles of nodes, which libtorch's passes preserve.

    Args:
        sources (bool): read the sources
    """

    def __init__(self, sources=True):
        self.numbered = []  # (source, kind)
        self.sources = sources

    def number(self, graph):
        """Inlines the calls in PyTorch's graph, numbers its nodes, and returns them. A handle has the number, which counts from 1,
        and a fingerprint of the graph in its upper half."""
        inline_calls_and_forks(graph)
        nodes = [node for node in graphs.all_nodes(graph.block()) if node.kind() != "prim::Constant"]
        numbered = [node for node in nodes if node.kind() not in _UNNUMBERED]
        handles = itertools.count((_fingerprint(numbered) << 32) + 1)
        for node, source in zip(nodes, self._sources(nodes)):
            kind = node.kind()
            node.copyMetadata(_marks[len(self.numbered)])
            self.numbered.append(((*source, 0 if kind in _UNNUMBERED else next(handles)), kind))
        return numbered

    def _sources(self, nodes):
        """Sources of nodes, which another method may have numbered."""
        if not self.sources:
            return itertools.repeat(("", 0, "", ""))
        texts = [node.sourceRange() for node in nodes]
        marks = list(map(_mark_of, texts))
        found = iter(sources_of([(node, text) for node, text, mark in zip(nodes, texts, marks) if mark is None]))
        return [next(found) if mark is None else self.numbered[mark][0][:4] for mark in marks]

    def source(self, node):
        """Returns (file, line, function, module, handle) of a node."""
        text = node.sourceRange()
        mark = _mark_of(text)
        if mark is None:  # a pass has made the node
            return (*own_source(node, text), 0)
        source, kind = self.numbered[mark]
        if node.kind() != kind and not node.hasAttribute(_RESULT):
            return (*source[:4], 0)  # a pass has replaced the node
        return source


def keep_handle(node, other):
    """Gives a node that replaces another one its handle: its one result is the other's."""
    if node.outputsSize() == 1 and node.sourceRange() == other.sourceRange():
        node.i_(_RESULT, 1)
