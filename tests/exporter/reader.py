"""A second reader of .rush files, written from the comment in format.h alone (no runtime, no torch).

It checks the rules that apply to what it reads, and raises Bad. Tests compare what it reads with what was exported.
"""

import dataclasses
import hashlib
import struct

import numpy as np

NONE = 0xFFFFFFFF
CONSTANT = 0x80000000
ALIGN = 64
RECORDS = {  # section id: (name, struct format)
    0x01: ("string_bytes", "<c"),
    0x02: ("strings", "<II"),
    0x03: ("lists", "<I"),
    0x04: ("types", "<HHIII"),
    0x05: ("storages", "<QQ"),
    0x06: ("tensors", "<BBHIIIQ8q8q"),
    0x07: ("constants", "<IIQQ"),
    0x08: ("ops", "<II"),
    0x09: ("attributes", "<IIII"),
    0x0A: ("hints", "<BBHI8q"),
    0x0B: ("ports", "<IIII"),
    0x0C: ("registers", "<II"),
    0x0D: ("operands", "<I"),
    0x0E: ("instrs", "<HHHHIIII"),
    0x0F: ("methods", "<10I"),
    0x10: ("uniform", "<I8s"),
    0x100: ("sources", "<IIIIQ"),
    0x101: ("tests", "<IIIff"),
    0x102: ("meta", "<II"),
    0x103: ("texts", "<IIII"),
    0x104: ("traced", "<IIQ"),
    0x105: ("constraints", "<IIIIqq"),
    0x106: ("measures", "<IIff"),
    0x107: ("exact", "<II"),
    0x108: ("assets", "<IIQQ32s"),
}
DTYPES = {0: np.uint8, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.int64, 5: np.float16,
          6: np.float32, 7: np.float64, 9: np.complex64, 10: np.complex128, 11: np.bool_}
TYPE_WORDS = {0: "None", 1: "Tensor", 2: "int", 3: "float", 4: "bool", 5: "complex", 6: "str",
              9: "Dict", 11: "Union", 12: "Any", 13: "Scalar", 14: "Device", 15: "Generator",
              16: "Future", 17: "Object", 18: "Enum"}
OPCODES = ["OP", "IF", "ELSE", "END_IF", "LOOP", "END_LOOP", "RETURN"]


class Bad(Exception):
    pass


def check(ok, what):
    if not ok:
        raise Bad(what)


@dataclasses.dataclass
class Tensor:
    name: str
    data: np.ndarray  # a strided view on the file's bytes; None for a RANDOM one
    storage: int
    strides: tuple
    dtype: int
    sizes: tuple


@dataclasses.dataclass
class Random:
    dtype: int
    sizes: tuple
    seed: int
    lo: float
    hi: float

    def values(self):
        n = int(np.prod(self.sizes, dtype=np.int64))
        mask, state, out = (1 << 64) - 1, self.seed, []
        for _ in range(n):
            state = (state + 0x9E3779B97F4A7C15) & mask
            z = state
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
            u = z ^ (z >> 31)
            if self.dtype == 11:
                out.append(u >> 63)
            elif self.dtype in (5, 6, 7, 15):
                out.append(self.lo + (self.hi - self.lo) * (u >> 40) * 2.0**-24)
            else:
                out.append(np.floor(self.lo + (self.hi - self.lo) * float(u >> 11) * 2.0**-53))
        return np.array(out, np.float64).reshape(self.sizes).astype(DTYPES[self.dtype])


@dataclasses.dataclass
class Instr:
    opcode: str
    op: str
    inputs: list   # ("r", register) or ("c", constant's value)
    outputs: list  # registers
    target: int
    source: tuple  # (file, line, function, module) or None
    handle: int


class Model:
    def __init__(self, data):
        self.bytes = data
        check(len(data) >= 64, "shorter than a header")
        check(data[:8] == b"\x89RUSH\r\n\x1a", "magic")
        version, n_sections, features, self.head_bytes, self.weights_bytes, total, r0, r1 = \
            struct.unpack_from("<IIQQQQQQ", data, 8)
        check(version == 1 and features == 0 and r0 == r1 == 0, "header")
        check(1 <= n_sections <= 64, "number of sections")
        check(self.head_bytes % ALIGN == 0 and self.weights_bytes % ALIGN == 0, "alignment")
        check(total == self.head_bytes + self.weights_bytes == len(data), "size of the file")
        self.tables = {name: [] for name, _ in RECORDS.values()}
        at, last = 64 + 24 * n_sections, 0
        for i in range(n_sections):
            ident, count, offset, size = struct.unpack_from("<IIQQ", data, 64 + 24 * i)
            check(ident > last, "sections rise")
            check(offset % 8 == 0 and 0 <= offset - at < 64, "place of a section")
            check(not any(data[at:offset]), "gap is zero")
            check(offset + size <= self.head_bytes, "section inside the head")
            if ident in RECORDS:
                name, fmt = RECORDS[ident]
                check(size == count * struct.calcsize(fmt), f"width of {name}")
                raw = data[offset:offset + size]
                self.tables[name] = raw if ident == 1 else [
                    r if len(r) > 1 else r[0] for r in struct.iter_unpack(fmt, raw)]
            else:
                check(ident >= 0x100, f"unknown section {ident:#x}")
            at, last = offset + size, ident
        check(0 <= self.head_bytes - at < 64 and not any(data[at:self.head_bytes]), "end of the head")
        self._storages()
        self.assets = self._assets()
        self.constant_values = []
        for c in self.tables["constants"]:
            self.constant_values.append(self._constant(*c))
        self.methods = {self.string(m[0]): self._method(m) for m in self.tables["methods"]}
        check(len(self.methods) == len(self.tables["methods"]) > 0, "distinct methods")
        self.attributes = [(self.string(n), self.type(t), self.constant_values[c])
                           for n, t, c, _ in self.tables["attributes"]]
        self.meta = {self.string(k): self.string(v) for k, v in self.tables["meta"]}
        self.texts = {(self.string(m), k): self.string(t) for m, k, t, _ in self.tables["texts"]}
        self.tests = [(list(self.methods)[m], self.constant_values[i], self.constant_values[o], rtol, atol)
                      for m, i, o, rtol, atol in self.tables["tests"]]

    def string(self, i):
        if i == NONE:
            return None
        offset, n = self.tables["strings"][i]
        raw = self.tables["string_bytes"]
        check(raw[offset + n:offset + n + 1] == b"\0", "a zero byte follows a string")
        return raw[offset:offset + n].decode("utf-8")

    def type(self, i):
        kind, n, start, name, reserved = self.tables["types"][i]
        check(reserved == 0, "reserved of a type")
        children = self.tables["lists"][start:start + n]
        if kind in (17, 18):
            check(all(self.string(c) for c in children), "attributes have names")
            return self.string(name)
        check(all(c < i for c in children), "types refer to earlier ones")
        items = [self.type(c) for c in children]
        if kind == 7:
            return items[0] + "[]"
        if kind == 10:
            return items[0] + "?"
        if kind == 8:
            if name != NONE:
                fields = [self.string(s) for s in self.tables["lists"][start + n:start + 2 * n]]
                return self.string(name) + "(" + ", ".join(f"{f} : {t}" for f, t in zip(fields, items)) + ")"
            return "(" + ", ".join(items) + ")"
        word = TYPE_WORDS[kind]
        return word + ("(" + ", ".join(items) + ")" if items else "")

    def _storages(self):
        """Checks the storages, and sets the end of the last one in the weights."""
        named = [storage for storage, _ in self.tables["uniform"]]
        check(named == sorted({*named}) and all(n < len(self.tables["storages"]) for n in named), "uniform storages rise and exist")
        self.patterns = dict(self.tables["uniform"])
        self.end_of_storages = 0
        for i, (offset, size) in enumerate(self.tables["storages"]):
            stored = 0 if i in self.patterns else size
            check(offset % ALIGN == 0 and offset >= self.end_of_storages, "storages rise and are aligned")
            check(offset + stored <= self.weights_bytes, "storage inside the weights")
            self.end_of_storages = offset + stored

    def _assets(self):
        """Returns the contents of the assets by name."""
        at, out, last = self.end_of_storages, {}, b""
        check(len(self.tables["assets"]) <= 4096, "number of assets")
        for name, reserved, offset, size, digest in self.tables["assets"]:
            check(reserved == 0, "reserved of an asset")
            check(offset % ALIGN == 0 and offset >= at, "assets rise, are aligned, and follow the storages")
            check(offset + size <= self.weights_bytes, "asset inside the file")
            name = self.string(name)
            check(last < name.encode() and len(name.encode()) <= 255, "names of assets rise")
            data = self.bytes[self.head_bytes + offset:self.head_bytes + offset + size]
            check(hashlib.sha256(data).digest() == digest, "digest of an asset")
            out[name], at, last = data, offset + size, name.encode()
        return out

    def tensor(self, i):
        dtype, rank, r0, storage, name, r1, offset, *rest = self.tables["tensors"][i]
        check(r0 == r1 == 0 and rank <= 8, "tensor record")
        sizes, strides = tuple(rest[:rank]), tuple(rest[8:8 + rank])
        check(not any(rest[rank:8]) and not any(rest[8 + rank:]), "zero beyond the rank")
        data = None
        if storage != NONE:
            start, n = self.tables["storages"][storage]
            item = np.dtype(DTYPES[dtype]).itemsize
            if 0 not in sizes:
                last = offset + sum((s - 1) * t for s, t in zip(sizes, strides))
                check((last + 1) * item <= n, "a tensor reaches outside its storage")
            raw = np.frombuffer(self.bytes, np.uint8, n, self.head_bytes + start) if storage not in self.patterns else \
                np.resize(np.frombuffer(self.patterns[storage], np.uint8), n)
            data = np.ndarray(sizes, DTYPES[dtype], raw, offset * item if 0 not in sizes else 0,
                              [s * item for s in strides]) if n else np.zeros(sizes, DTYPES[dtype])
        return Tensor(self.string(name), data, storage, strides, dtype, sizes)

    def _constant(self, kind, a, p0, p1):
        i = len(self.constant_values)
        signed = struct.unpack("<q", struct.pack("<Q", p0))[0]
        real = struct.unpack("<d", struct.pack("<Q", p0))[0]
        if kind == 0:
            return None
        if kind == 1:
            return self.tensor(a)
        if kind == 2:
            return signed
        if kind == 3:
            return real
        if kind == 4:
            return bool(p0)
        if kind == 5:
            return complex(real, struct.unpack("<d", struct.pack("<Q", p1))[0])
        if kind in (6, 10):
            return self.string(a)
        if kind in (7, 8, 9, 12, 13):
            refs = self.tables["lists"][a:a + p0]
            check(len(refs) == p0 and all(r < i for r in refs), "constants refer to earlier ones")
            items = [self.constant_values[r] for r in refs]
            check(self.tables["types"][p1][0] == {12: 17, 13: 18}.get(kind, kind), "type of a container")
            if kind == 9:
                return dict(zip(items[::2], items[1::2]))
            return items if kind == 7 else tuple(items)
        check(kind == 11, f"kind {kind} of a constant")
        t = self.tensor(a)
        check(t.storage == NONE, "a random constant has no storage")
        lo, hi = struct.unpack("<ff", struct.pack("<Q", p1))
        return Random(t.dtype, t.sizes, p0, lo, hi)

    def _ports(self, first, n):
        out = []
        for port, (name, ty, hint, initial) in enumerate(self.tables["ports"][first:first + n], first):
            constraints = [(dim, self.string(name), least, most) for p, dim, name, _, least, most in self.tables["constraints"] if p == port]
            shape = dtype = None
            if hint != NONE:
                dtype, rank, _, _, *sizes = self.tables["hints"][hint]
                shape = None if rank == 255 else [None if s == -1 else s for s in sizes[:rank]]
            out.append({"name": self.string(name), "type": self.type(ty), "dtype": dtype, "shape": shape, "constraints": constraints,
                        "default": None if initial == NONE else self.constant_values[initial]})
        return out

    def _method(self, record):
        _, inputs, n_inputs, outputs, n_outputs, result, first, n, registers, n_registers = record
        instrs = [self._instr(self.tables["instrs"][first + i]) for i in range(n)]
        check([i.opcode for i in instrs].count("RETURN") == 1 and instrs[-1].opcode == "RETURN", "return")
        method = {"inputs": self._ports(inputs, n_inputs), "outputs": self._ports(outputs, n_outputs),
                  "result": self.type(result), "instrs": instrs, "first": first,
                  "registers": [(self.type(t), self.string(s))
                                for t, s in self.tables["registers"][registers:registers + n_registers]]}
        self._check_flow(method, n_inputs)
        return method

    def _instr(self, record):
        opcode, n_in, n_out, reserved, op, at, target, source = record
        check(reserved == 0, "reserved of an instruction")
        operands = self.tables["operands"][at:at + n_in + n_out]
        inputs = [("c", self.constant_values[o & ~CONSTANT]) if o & CONSTANT else ("r", o)
                  for o in operands[:n_in]]
        where, handle = None, 0
        if source != NONE:
            f, line, function, module, handle = self.tables["sources"][source]
            where = (self.string(f), line, self.string(function), self.string(module))
        name = self.string(self.tables["ops"][op][0]) if op != NONE else None
        check((OPCODES[opcode] == "OP") == (name is not None), "only OP has an operator")
        return Instr(OPCODES[opcode], name, inputs, list(operands[n_in:]), target, where, handle)

    def _check_flow(self, method, n_inputs):
        """Every register is written once and read where it is visible; blocks nest."""
        first, written, scopes, open_ = method["first"], set(range(n_inputs)), [set(range(n_inputs))], []

        def write(registers):
            for r in registers:
                check(r not in written and r < len(method["registers"]), "a register is written once")
                written.add(r)
                scopes[-1].add(r)

        for i, instr in enumerate(method["instrs"]):
            for kind, r in instr.inputs:
                check(kind == "c" or any(r in s for s in scopes), "a register is read where it is visible")
            me, target = first + i, instr.target
            if instr.opcode == "IF":
                open_.append((me, instr))
                scopes.append(set())
            elif instr.opcode == "ELSE":
                opener, _ = open_[-1]
                check(method["instrs"][opener - first].target == me, "IF points to its ELSE")
                open_[-1] = (me, open_[-1][1])
                scopes[-1] = set()
            elif instr.opcode == "END_IF":
                at_else, at_if = open_.pop()
                check(method["instrs"][at_else - first].target == me, "ELSE points to its END_IF")
                check(method["instrs"][target - first] is at_if, "END_IF points to its IF")
                scopes.pop()
                write(at_if.outputs)
            elif instr.opcode == "LOOP":
                n = len(instr.inputs) - 2
                open_.append((me, instr))
                scopes.append(set())
                write(instr.outputs[n:])
            elif instr.opcode == "END_LOOP":
                opener, loop = open_.pop()
                check(target == opener and loop.target == me, "a loop's ends point to each other")
                scopes.pop()
                write(loop.outputs[:len(loop.inputs) - 2])
            else:
                write(instr.outputs)
        check(not open_, "a block is left open")

    def ops(self, method="forward"):
        return [i.op for i in self.methods[method]["instrs"] if i.op]


def read(path):
    with open(path, "rb") as f:
        return Model(f.read())
