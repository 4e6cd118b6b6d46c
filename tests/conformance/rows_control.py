"""Control flow and values that are not tensors."""
from conformance import *

for name, x in (("true", tensor([1.0, 2.0])), ("false", tensor([-1.0, -2.0]))):
    row(f"if_{name}", """
        if bool(x.sum() > 0):
            y = x * 2
        else:
            y = x - 1
        return y""", x=x)
