"""The one PyTorch whose answers the tests want, whatever processor they run on. Importing this sets it up.

libtorch picks kernels by processor, and these differ in the last digits and at the edges: gelu of the greatest
float is inf in one and 3.4e38 in another. So: ATen's plain kernels, no oneDNN, OpenBLAS's oldest kernels, one
thread, no fuser (its code generation does not always end).

RUSH_REFERENCE=avx2,onednn asks for other kernels, to see that the tests do not depend on the choice: one of
default, avx2 and avx512, and onednn or not. `./dev test --reference avx2,onednn` sets it.
"""
import os
import platform
import sys

KERNELS = {"default": "DEFAULT", "avx2": "AVX2", "avx512": "AVX512"}


def parse(text):
    """("avx2", True) of "avx2,onednn"."""
    words = [w for w in text.split(",") if w]
    kernels = [w for w in words if w in KERNELS]
    if len(kernels) > 1 or set(words) - set(KERNELS) - {"onednn"}:
        raise SystemExit(f"RUSH_REFERENCE={text} is not one of {', '.join(KERNELS)}, with or without ,onednn")
    return (kernels or ["default"])[0], "onednn" in words


ATEN, ONEDNN = parse(os.environ.get("RUSH_REFERENCE", ""))
#: Answers made under one name are not those of another.
NAME = ATEN + (",onednn" if ONEDNN else "")

# Read when the libraries are loaded, and by programs that a test starts.
assert "torch" not in sys.modules, "reference comes before torch"
os.environ["ATEN_CPU_CAPABILITY"] = ATEN
if ATEN == "default" and platform.machine() == "x86_64":
    os.environ["OPENBLAS_CORETYPE"] = "Prescott"

import torch  # noqa: E402

if ATEN != "default" and KERNELS[ATEN] != torch.backends.cpu.get_cpu_capability():
    raise SystemExit(f"RUSH_REFERENCE={NAME}: this processor, or this torch, has only {torch.backends.cpu.get_cpu_capability()}")
torch.backends.mkldnn.set_flags(ONEDNN)
torch.set_num_threads(1)
torch._C._jit_set_texpr_fuser_enabled(False)

# torch.jit knows a builtin function by id(), also of one that is gone: torch.ao's quantized_decomposed defines
# overloads one by one and drops the packet of the last. A list of a model that comes to lie there "is" that builtin,
# and does not script. So nothing that was ever registered goes.
_registered = []
_register_builtin = torch.jit._builtins._register_builtin


def _register_and_keep(function, name):
    _registered.append(function)
    _register_builtin(function, name)


torch.jit._builtins._register_builtin = _register_and_keep
