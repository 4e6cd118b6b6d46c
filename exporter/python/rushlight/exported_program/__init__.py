"""The front for torch.export: converts the graph of an ExportedProgram to the exporter's own, without torch.jit.

Each node of an ExportedProgram names its operator as an OpOverload with ATen's schema. `description.py` gives the description that
the exporter takes: `convert.py`, `control.py` and `arithmetic.py` add the nodes to a GraphBuilder of core, `containers.py` converts
the containers of inputs and results, and `guards.py` the constraints on sizes. `reference.py` runs a program in PyTorch, and
`interpreter.py` runs it node by node. `attributes.py` finds the tensors that several programs of one file share.
"""
