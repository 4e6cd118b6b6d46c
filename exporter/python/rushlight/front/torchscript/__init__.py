"""The front for TorchScript: converts scripted and traced models to the exporter's own program, through torch's Python API.

The package calls `export.py`. `subject.py` is the model as callers see it, with hooks (`hooks.py`) and with tuples for the
program's own classes (`boundary_objects.py`). `program.py` has the steps: numbers the nodes of PyTorch's graph (`debug_handles.py`),
freezes it (`frozen.py`), simplifies it (`forks.py`, `nested_tensors.py`, `operator_programs.py`, `type_checks.py`), and gives each node
to `convert.py`. `trace.py` runs PyTorch's graph node by node, and `float64.py` makes it compute in float64.

torch._C is used in this folder alone. What it lacks is worked around in one module each: sources of inlined nodes
(`source_locations.py`), attributes of classes (`types.py`), values without a form in Python (`places.py`).
"""
