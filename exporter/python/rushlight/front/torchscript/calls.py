"""Calls of methods and functions: all are inlined."""

import torch

from .containers import choose_modules
from .with_statements import call_contexts


def inline_calls(graph):
    """Inlines all calls, also those that `with` statements and containers of modules make."""
    more = True
    while more:
        torch._C._jit_pass_inline(graph)
        more = call_contexts(graph)
        more = choose_modules(graph) or more
