"""Makes files in which every name is hostile: of methods, inputs, outputs, attributes, tensors, types, registers, sources, texts
and metadata. No name may become code, a path, HTML or a terminal command.

    python3 tests/hostile_names.py [DIR]     # writes DIR/NNN.rush, DIR/all.rush and DIR/names.json; DIR is build/hostile-names

names.json is a list of {"file", "name", "op"}. all.rush has all names that the reader accepts. A file has three methods:
forward(NAME: Tensor) -> Tensor, which returns relu; NAME, whose result is a named tuple NAME with the fields NAME and "other";
and fails_0, which fails at a line of the source file NAME. A file with "op" calls an operator of that name, which no runtime has.
"""

import json
import pathlib
import struct
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
NONE, CONSTANT = 0xFFFFFFFF, 0x80000000
TENSOR, INT, LIST, TUPLE = 1, 2, 7, 8  # kinds of types and of constants
FLOAT32 = 6

# Each name is harmful where a program inserts it without escapes. OWNED is the file that injected code would make.
NAMES = [
    # keywords of Python and JavaScript, and names of class members
    "class", "None", "def", "lambda", "var", "default", "await", "__init__", "__reduce__", "__class__", "__proto__", "constructor",
    "prototype", "toString", "then", "self", "interpreter", "training", "train", "_run", "_compiled", "forward_", "torch", "List",
    "args", "_args", "_result", "result", "input_0", "input_1", "ﬁ", "é", "μ",
    # code
    "f(): pass\n\nopen('OWNED', 'w').write('x')\n\ndef g", "x: open('OWNED', 'w') = 0, y", "x=open('OWNED','w')", "x): open('OWNED','w'); (",
    "'+open('OWNED','w')+'", '"""', "''' + open('OWNED', 'w') + '''", "`${process.exit(3)}`", "*/ import('fs') /*", "]: never; }; export const x = [",
    # paths and shells
    ".", "..", "../../OWNED", "/tmp/OWNED", "a/b", "a\\b", "a.b", "~", "-o", "--output", "CON", "nul.txt", "a:b", "$(touch OWNED)", "`touch OWNED`",
    "; touch OWNED", "| touch OWNED", "%s%n%s%n", "${HOME}", "*",
    # HTML
    "<script>globalThis.OWNED=1</script>", "<img src=x onerror=OWNED=1>", "\"><svg onload=OWNED=1>", "&lt;", "javascript:OWNED=1",
    # control characters of terminals, editors and JSON
    "a\nb", "a\rb", "a\tb", "a\0b", "\x1b[2J\x1b]0;OWNED\x07", "\x9b31m", "\x7f", "\u202eevil\u202c", "\u2066a\u2069", "\u200f", "\u061c", "\u2028", "\u2029",
    "\ufeff", "\u200b", "\ud7ff", "\U0010ffff", '"', "'", "\\", "\\u0000", '{"a":1}',
    # sizes
    "", " ", "x" * 10000, "\u202e" * 10000,
]
OPERATORS = ["evil::<script>OWNED=1</script>", "evil::\u202eop", "__proto__::__proto__", "evil::a\nb", "evil::a\x1b[2J", "../../OWNED::op", "evil::" + "x" * 10000]
# A run and a verification also print these.
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


class File:
    """The records of a file. Each method returns the index of the record that it adds."""

    def __init__(self):
        self.strings, self.lists, self.types, self.tensors, self.constants = [], [], [], [], []
        self.ops, self.ports, self.registers, self.operands, self.instrs, self.methods = [], [], [], [], [], []
        self.sources, self.sections, self.weights = [], {}, b""

    def string(self, text):
        self.strings.append(text.encode())
        return len(self.strings) - 1

    def type(self, kind, children=(), name=NONE):
        at = len(self.lists)
        n = len(children) if name == NONE else len(children) // 2  # a named tuple's list continues with its fields
        self.lists += children
        self.types.append(struct.pack("<2H3I", kind, n, at if children else 0, name, 0))
        return len(self.types) - 1

    def tensor(self, name, values):
        eight = [len(values), *[0] * 7], [1, *[0] * 7]
        self.tensors.append(struct.pack("<BBH3IQ16q", FLOAT32, 1, 0, 0, self.string(name), 0, len(self.weights) // 4, *eight[0], *eight[1]))
        self.weights += struct.pack(f"<{len(values)}f", *values)
        return self.constant(TENSOR, len(self.tensors) - 1)

    def constant(self, kind, a=0, p0=0, p1=0):
        self.constants.append(struct.pack("<2I2Q", kind, a, p0, p1))
        return len(self.constants) - 1

    def listed(self, kind, items, type):
        at = len(self.lists)
        self.lists += items
        return self.constant(kind, at, len(items), type)

    def op(self, name):
        self.ops.append(struct.pack("<2I", self.string(name), NONE))
        return len(self.ops) - 1

    def register(self, type, name):
        self.registers.append(struct.pack("<2I", type, self.string(name)))
        return len(self.registers) - 1

    def instr(self, op, ins, outs, source=NONE):
        code = 0 if outs else 6
        self.instrs.append(struct.pack("<4H4I", code, len(ins), len(outs), 0, op if outs else NONE, len(self.operands), NONE, source))
        self.operands += [*ins, *outs]

    def source(self, name):
        text = self.string(name)
        self.sources.append(struct.pack("<4IQ", text, 7, text, text, 0))
        return len(self.sources) - 1

    def method(self, name, inputs, outputs, result, body):
        """Adds a method. `inputs` and `outputs` have (name, type). `body` has (op, operands, type, source) with one result each, and the
        last result is returned. Registers count from the method's first."""
        first, instrs, registers = len(self.ports), len(self.instrs), len(self.registers)
        for port, type in [*inputs, *outputs]:
            self.ports.append(struct.pack("<4I", self.string(port), type, NONE, NONE))
        for port, type in inputs:
            self.register(type, port)
        for op, operands, type, source in body:
            self.instr(op, operands, [self.register(type, name) - registers], source)
        self.instr(NONE, [len(self.registers) - registers - 1], [])
        self.methods.append(struct.pack("<10I", self.string(name), first, len(inputs), first + len(inputs), len(outputs), result, instrs,
                                        len(self.instrs) - instrs, registers, len(self.registers) - registers))

    def bytes(self):
        blob = b"".join(t + b"\0" for t in self.strings)
        starts = [sum(len(t) + 1 for t in self.strings[:i]) for i in range(len(self.strings))]
        ints = lambda values: b"".join(struct.pack("<I", v) for v in values)  # noqa: E731
        sections = {
            1: (1, blob), 2: (8, b"".join(struct.pack("<2I", at, len(t)) for at, t in zip(starts, self.strings))), 3: (4, ints(self.lists)),
            4: (16, b"".join(self.types)), 5: (16, struct.pack("<2Q", 0, len(self.weights))), 6: (152, b"".join(self.tensors)),
            7: (24, b"".join(self.constants)), 8: (8, b"".join(self.ops)), 11: (16, b"".join(self.ports)), 12: (8, b"".join(self.registers)),
            13: (4, ints(self.operands)), 14: (24, b"".join(self.instrs)), 15: (40, b"".join(self.methods)),
            0x100: (24, b"".join(self.sources)), **self.sections,
        }
        sections = {i: s for i, s in sorted(sections.items()) if s[1]}
        out, table, start = b"", b"", 64 + 24 * len(sections)
        for i, (width, data) in sections.items():
            out += bytes(-(start + len(out)) % 8)
            table += struct.pack("<2I2Q", i, len(data) // width, start + len(out), len(data))
            out += data
        out += bytes(-(start + len(out)) % 64)
        weights = self.weights + bytes(-len(self.weights) % 64)
        head = struct.pack("<8s2I6Q", b"\x89RUSH\r\n\x1a", 1, len(sections), 0, start + len(out), len(weights), start + len(out) + len(weights), 0, 0)
        return head + table + out + weights


def hostile(*names, operator=None):
    """Returns the bytes of a file with only these names. It needs the `operator`, if given."""
    f = File()
    tensor, whole = f.type(TENSOR), f.type(INT)
    named = [f.type(TUPLE, [tensor, tensor, f.string(name), f.string("other")], f.string(name)) for name in names]
    given = [f.tensor(name, [-1.0, 2.0]) for name in names]
    want = f.tensor("want", [0.0, 2.0])
    seven = f.listed(LIST, [f.constant(INT, 0, 7)], f.type(LIST, [whole]))
    inputs = f.listed(TUPLE, given[:1], f.type(TUPLE, [tensor]))
    relu, pair, reshape = f.op(operator or "aten::relu"), f.op("prim::TupleConstruct"), f.op("aten::reshape")
    f.method("forward", [(names[0], tensor)], [(names[0], tensor)], tensor, [(relu, [0], tensor, NONE)])
    for i, (name, type) in enumerate(zip(names, named)):
        source = f.source(name)
        f.method(name, [(name, tensor), ("y", tensor)], [(name, tensor), ("other", tensor)], type, [(pair, [0, 1], type, source)])
        f.method(f"fails_{i}", [(name, tensor)], [(name, tensor)], tensor, [(reshape, [0, seven | CONSTANT], tensor, source)])
    f.sections = {
        9: (16, b"".join(struct.pack("<4I", f.string(name), tensor, value, 0) for name, value in zip(names, given))),
        0x101: (20, struct.pack("<3I2f", 0, inputs, want, 1e-5, 1e-8)),
        0x102: (8, b"".join(struct.pack("<2I", f.string(name), f.string(name)) for name in names)),
        0x103: (16, b"".join(struct.pack("<4I", f.string(name), kind, f.string(name), 0) for name in names for kind in range(3))),
        0x105: (32, struct.pack("<4I2q", 0, 0, f.string(names[0]), 0, 1, 1000)),
    }
    return f.bytes()


# The names for the file of all names. The reader refuses the others.
GOOD = [name for name in NAMES if "\0" not in name]


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, op in [*((name, None) for name in NAMES), *(("op", op) for op in OPERATORS)]:
        rows.append({"file": f"{len(rows):03}.rush", "name": name, "op": op})
        (folder / rows[-1]["file"]).write_bytes(hostile(name, operator=op))
    (folder / "names.json").write_text(json.dumps(rows))
    (folder / "all.rush").write_bytes(hostile(*GOOD))
    return rows


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else TOP / "build" / "hostile-names")
