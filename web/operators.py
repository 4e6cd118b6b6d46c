"""Makes the page of operators from ops.def: python3 web/operators.py > operators.html"""

import html
import re
from pathlib import Path

ops = Path(__file__).resolve().parents[1] / "wasm" / "src" / "ops"
groups = []
for path in re.findall(r'#include "ops/(.*)"', (ops / "ops.def").read_text()):
    groups.append((Path(path).stem, []))
    for kind, schema, flags in re.findall(r'^([A-Z]+)\(\w+, *"(.*)", (.*)\)$', (ops / path).read_text(), re.M):
        groups[-1][1].append((schema.replace('\\"', '"'), f"also {re.split('[(.]', schema)[0]}_" if "RUSH_OP_INPLACE" in flags else ""))

print(f"""<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Rushlight: operators</title>
  <link rel="stylesheet" href="page.css">
  <link rel="stylesheet" href="c.css">
</head>
<body>
<nav><a href="index.html">Reference</a></nav>
<main>
<h1>Operators</h1>
<p>The runtime has {sum(len(rows) for _, rows in groups)} schemas, as PyTorch prints them. PyTorch's native_functions.yaml documents
the operators of <code>aten</code>. Its register_prim_ops.cpp has those of <code>prim</code> and those without tensors. The
exporter makes the operators of <code>rush</code>.</p>
<p>Each operator behaves as PyTorch's operator of that name, and so does its overload with <code>out=</code>. Tensors have a rank
from 0 to 8 and any size. Their dtypes are float32, float64, float16, bfloat16, complex64, complex128, int64, int32, int16, int8,
uint8 and bool, if PyTorch's operator accepts them. An operator refuses the arguments that PyTorch refuses.</p>""")
for heading, rows in groups:
    print(f"<h2 class='groupheader'>{html.escape(heading)}</h2>\n<ul class='operators'>")
    for schema, note in rows:
        print(f"<li><code>{html.escape(schema)}</code> <span class='quiet'>{note}</span></li>")
    print("</ul>")
print("</main>\n</body>\n</html>")
