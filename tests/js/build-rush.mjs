// Writes small .rush files by format.h, for the tests: a program is a list of calls on a Method.
//
//   const f = new RushFile();
//   f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [null, 2] }], outputs: ['y'] },
//     (m, x) => m.op('aten::flip', [x, f.list('int[]', [0])]));
//   f.bytes()

import { DTYPES, parseType } from '../../js/src/base/types.js';
import { Sha2 } from '../../js/src/source/sha2.js';

const NONE = 0xffffffff;
const CONSTANT = 0x80000000;
const TYPE = {
  NoneType: 0,
  Tensor: 1,
  int: 2,
  float: 3,
  bool: 4,
  complex: 5,
  str: 6,
  List: 7,
  Tuple: 8,
  Dict: 9,
  Optional: 10,
  Union: 11,
  Any: 12,
  Scalar: 13,
  Device: 14,
};
const CONST = { none: 0, tensor: 1, int: 2, float: 3, bool: 4, str: 6, list: 7, tuple: 8, dict: 9, random: 11 };
const OPCODE = { op: 0, if: 1, else: 2, endIf: 3, loop: 4, endLoop: 5, return: 6 };
const WIDTHS = {
  1: 1,
  2: 8,
  3: 4,
  4: 16,
  5: 16,
  6: 152,
  7: 24,
  8: 8,
  9: 16,
  10: 72,
  11: 16,
  12: 8,
  13: 4,
  14: 24,
  15: 40,
  16: 12,
  256: 24,
  257: 20,
  258: 8,
  259: 16,
  260: 16,
  261: 32,
  262: 16,
  264: 56,
};

/** Little-endian bytes, as records need them. */
class Bytes {
  parts = [];
  length = 0;
  #put(n, set) {
    const b = new Uint8Array(n);
    set(new DataView(b.buffer));
    return this.raw(b);
  }
  raw(b) {
    this.parts.push(b);
    this.length += b.length;
    return this;
  }
  u8(...v) {
    return this.raw(Uint8Array.from(v));
  }
  u16(...v) {
    for (const n of v) this.#put(2, (d) => d.setUint16(0, n, true));
    return this;
  }
  u32(...v) {
    for (const n of v) this.#put(4, (d) => d.setUint32(0, n, true));
    return this;
  }
  u64(...v) {
    for (const n of v) this.#put(8, (d) => d.setBigUint64(0, BigInt.asUintN(64, BigInt(n)), true));
    return this;
  }
  f32(...v) {
    for (const n of v) this.#put(4, (d) => d.setFloat32(0, n, true));
    return this;
  }
  f64bits(v) {
    return this.#put(8, (d) => d.setFloat64(0, v, true));
  }
  pad(to) {
    return this.raw(new Uint8Array((to - (this.length % to)) % to));
  }
  all() {
    const out = new Uint8Array(this.length);
    let at = 0;
    for (const p of this.parts) {
      out.set(p, at);
      at += p.length;
    }
    return out;
  }
}

const arrayBytes = (a) => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
const rowMajor = (shape) => shape.map((_, d) => shape.slice(d + 1).reduce((a, b) => a * b, 1));

export class RushFile {
  section = Object.fromEntries(Object.keys(WIDTHS).map((id) => [id, new Bytes()]));
  weights = new Bytes();
  instrs = [];
  #strings = new Map();
  #types = new Map();
  #ops = new Map();

  count(id) {
    return this.section[id].length / WIDTHS[id];
  }

  string(text) {
    if (!this.#strings.has(text)) {
      const bytes = new TextEncoder().encode(text);
      this.#strings.set(text, this.count(2));
      this.section[2].u32(this.section[1].length, bytes.length);
      this.section[1].raw(bytes).u8(0);
    }
    return this.#strings.get(text);
  }

  indices(list) {
    const at = this.count(3);
    this.section[3].u32(...list);
    return at;
  }

  type(text) {
    return this.#type(parseType(text));
  }
  #type(t) {
    const children = t.of.map((c) => this.#type(c));
    const key = `${t.kind} ${children}`;
    if (!this.#types.has(key)) {
      const list = children.length ? this.indices(children) : 0;
      this.#types.set(key, this.count(4));
      this.section[4].u16(TYPE[t.kind], children.length).u32(list, NONE, 0);
    }
    return this.#types.get(key);
  }

  #constant(kind, a, p0, p1 = 0) {
    this.section[7].u32(CONST[kind], a).u64(p0, p1);
    return (CONSTANT + this.count(7) - 1) >>> 0;
  }

  none() {
    return this.#constant('none', 0, 0);
  }
  int(v) {
    return this.#constant('int', 0, v);
  }
  bool(v) {
    return this.#constant('bool', 0, v ? 1 : 0);
  }
  str(v) {
    return this.#constant('str', this.string(v), 0);
  }
  float(v) {
    this.section[7].u32(CONST.float, 0).f64bits(v).u64(0);
    return (CONSTANT + this.count(7) - 1) >>> 0;
  }
  /** @param {number[]} constants */
  container(kind, type, constants) {
    return this.#constant(kind, this.indices(constants.map((c) => c - CONSTANT)), constants.length, this.type(type));
  }
  /** A list of ints. */
  ints(values) {
    return this.container(
      'list',
      'int[]',
      values.map((v) => this.int(v)),
    );
  }

  /**
   * A weight. `storageBytes` makes its storage larger than its data (zeros follow). With `uniform`, the data has eight
   * bytes, which the storage repeats.
   */
  tensor(
    data,
    shape,
    { dtype, name, storageBytes = data.byteLength, strides = rowMajor(shape), offset = 0, uniform = false } = {},
  ) {
    dtype ??= Object.keys(DTYPES).find((d) => data instanceof DTYPES[d].Array);
    this.weights.pad(64);
    this.section[5].u64(this.weights.length, storageBytes);
    if (uniform) this.section[16].u32(this.count(5) - 1).raw(arrayBytes(data));
    else this.weights.raw(arrayBytes(data)).raw(new Uint8Array(storageBytes - data.byteLength));
    const eight = (list) => [...list, ...new Array(8 - list.length).fill(0)];
    this.section[6]
      .u8(DTYPES[dtype].id, shape.length)
      .u16(0)
      .u32(this.count(5) - 1, name === undefined ? NONE : this.string(name), 0)
      .u64(offset)
      .u64(...eight(shape), ...eight(strides));
    return this.#constant('tensor', this.count(6) - 1, 0);
  }

  /** A tensor of random numbers, which the file describes by a seed. */
  random(dtype, shape, seed, low, high) {
    const eight = (list) => [...list, ...new Array(8 - list.length).fill(0)];
    this.section[6]
      .u8(DTYPES[dtype].id, shape.length)
      .u16(0)
      .u32(NONE, NONE, 0)
      .u64(0, ...eight(shape), ...eight(rowMajor(shape)));
    this.section[7]
      .u32(CONST.random, this.count(6) - 1)
      .u64(seed)
      .f32(low, high);
    return (CONSTANT + this.count(7) - 1) >>> 0;
  }

  #port({ name, type = 'Tensor', dtype, shape, initial, constraints = [] }) {
    for (const { dim, name: size, min = 0, max = 2n ** 63n - 1n } of constraints)
      this.section[261].u32(this.count(11), dim, size ? this.string(size) : NONE, 0).u64(min, max);
    let hint = NONE;
    if (dtype || shape) {
      hint = this.count(10);
      const sizes = (shape ?? []).map((n) => n ?? -1);
      this.section[10]
        .u8(dtype ? DTYPES[dtype].id : 255, shape ? shape.length : 255)
        .u16(0)
        .u32(0)
        .u64(...sizes, ...new Array(8 - sizes.length).fill(0));
    }
    this.section[11].u32(this.string(name), this.type(type), hint, initial === undefined ? NONE : initial - CONSTANT);
  }

  op(name, schema) {
    if (!this.#ops.has(name)) {
      this.#ops.set(name, this.count(8));
      this.section[8].u32(this.string(name), schema ? this.string(schema) : NONE);
    }
    return this.#ops.get(name);
  }

  source(file, line, handle = 0, module = undefined) {
    this.section[256].u32(this.string(file), line, NONE, module === undefined ? NONE : this.string(module)).u64(handle);
    return this.count(256) - 1;
  }

  /** outputs: names, or ports. result: the type, "Tensor" unless there are several outputs. */
  method(name, { inputs = [], outputs = ['y'], result }, body) {
    const firstIn = this.count(11);
    inputs.forEach((p) => this.#port(p));
    const firstOut = this.count(11);
    outputs.forEach((p) => this.#port(typeof p === 'string' ? { name: p } : p));
    const method = new Method(
      this,
      inputs.map((p) => p.type ?? 'Tensor'),
    );
    const instrs = this.instrs.length;
    method.instr(OPCODE.return, [body(method, ...inputs.keys())], []);
    const registers = this.count(12);
    for (const t of method.registers) this.section[12].u32(this.type(t), NONE);
    result ??=
      outputs.length === 1 ? 'Tensor' : outputs.length ? `(${outputs.map(() => 'Tensor').join(', ')})` : 'NoneType';
    this.section[15].u32(
      this.string(name),
      firstIn,
      inputs.length,
      firstOut,
      outputs.length,
      this.type(result),
      instrs,
      this.instrs.length - instrs,
      registers,
      method.registers.length,
    );
    return this;
  }

  /** inputs: constants. */
  test(method, inputs, types, output, { rtol = 1e-4, atol = 1e-5 } = {}) {
    const tuple = this.container('tuple', `(${types.join(', ')})`, inputs);
    this.section[257].u32(method, tuple - CONSTANT, output - CONSTANT).f32(rtol, atol);
    return this;
  }

  /** How near the next value of a test's output must be; `exact`: a constant, what it is in float64. */
  measure(test, exact, { rtol = 1e-4, atol = 1e-5 } = {}) {
    this.section[262].u32(test, exact === undefined ? NONE : exact - CONSTANT).f32(rtol, atol);
    return this;
  }

  /** What the node of a handle gave in PyTorch during a test: constants. By rising handle. */
  traced(test, handle, results, types = results.map(() => 'Tensor')) {
    const tuple = this.container('tuple', `(${types.join(', ')})`, results);
    this.section[260].u32(test, tuple - CONSTANT).u64(handle);
    return this;
  }

  /** An attribute that the program changes; its slot. `initial`: a constant. */
  attribute(name, type, initial) {
    this.section[9].u32(this.string(name), this.type(type), initial - CONSTANT, 0);
    return this.count(9) - 1;
  }

  /** PyTorch's text about a module. */
  text(module, kind, text) {
    this.section[259].u32(this.string(module), ['graph', 'code', 'tree'].indexOf(kind), this.string(text), 0);
    return this;
  }

  /** An asset. Assets come last, sorted by name. `digest` replaces the right one. @param {string} name */
  asset(name, /** @type {string | Uint8Array} */ data, digest = /** @type {Uint8Array | undefined} */ (undefined)) {
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
    if (!digest) {
      const sha = new Sha2(256);
      sha.update(bytes);
      digest = sha.digest();
    }
    this.weights.pad(64);
    this.section[264].u32(this.string(name), 0).u64(this.weights.length, bytes.length).raw(digest);
    this.weights.raw(bytes);
    return this;
  }

  meta(key, value) {
    this.section[258].u32(this.string(key), this.string(value));
    return this;
  }

  bytes() {
    this.section[14] = new Bytes();
    for (const i of this.instrs)
      this.section[14].u16(i.opcode, i.n_in, i.n_out, 0).u32(i.op, i.operands, i.target, i.source);
    const ids = Object.keys(WIDTHS)
      .map(Number)
      .filter((id) => this.section[id].length);
    const body = new Bytes();
    const start = 64 + 24 * ids.length;
    const table = new Bytes();
    for (const id of ids) {
      body.pad(8);
      table.u32(id, this.count(id)).u64(start + body.length, this.section[id].length);
      body.raw(this.section[id].all());
    }
    const weights = new Bytes().raw(this.weights.all()).pad(64).all();
    const head = Math.ceil((start + body.length) / 64) * 64;
    return new Bytes()
      .u8(0x89, 0x52, 0x55, 0x53, 0x48, 0x0d, 0x0a, 0x1a)
      .u32(1, ids.length)
      .u64(0, head, weights.length, head + weights.length, 0, 0)
      .raw(table.all())
      .raw(body.all())
      .pad(64)
      .raw(weights)
      .all();
  }
}

/** The body of a method under construction: operands are registers (numbers) and constants. */
class Method {
  constructor(file, registers) {
    this.file = file;
    this.registers = registers;
    /** Source line of the instructions that follow. */
    this.at = NONE;
  }

  register(type) {
    return this.registers.push(type) - 1;
  }

  instr(opcode, inputs, outputs, { op = NONE, target = NONE } = {}) {
    const f = this.file;
    const operands = f.count(13);
    f.section[13].u32(...inputs, ...outputs);
    return (
      f.instrs.push({ opcode, n_in: inputs.length, n_out: outputs.length, op, operands, target, source: this.at }) - 1
    );
  }

  /** One result. */
  op(name, inputs, type = 'Tensor', schema = undefined) {
    const out = this.register(type);
    this.instr(OPCODE.op, inputs, [out], { op: this.file.op(name, schema) });
    return out;
  }

  /** Several results. */
  ops(name, inputs, types, schema = undefined) {
    const out = types.map((t) => this.register(t));
    this.instr(OPCODE.op, inputs, out, { op: this.file.op(name, schema) });
    return out;
  }

  /** No result. */
  call(name, inputs, schema = undefined) {
    this.instr(OPCODE.op, inputs, [], { op: this.file.op(name, schema) });
  }

  /** One result of a type; each branch gives its operand. */
  branch(condition, type, yes, no) {
    const f = this.file;
    const result = this.register(type);
    const start = this.instr(OPCODE.if, [condition], [result]);
    const between = this.instr(OPCODE.else, [yes()], []);
    const end = this.instr(OPCODE.endIf, [no()], [], { target: start });
    f.instrs[start].target = between;
    f.instrs[between].target = end;
    return result;
  }

  /** `body(round, ...carried)` gives the next carried values. Returns the last ones. */
  loop(rounds, carried, body) {
    const f = this.file;
    const types = carried.map((r) => (r >= CONSTANT ? 'int' : this.registers[r]));
    const results = types.map((t) => this.register(t));
    const round = this.register('int');
    const inside = types.map((t) => this.register(t));
    const yes = f.bool(true);
    const start = this.instr(OPCODE.loop, [rounds, yes, ...carried], [...results, round, ...inside]);
    f.instrs[start].target = this.instr(OPCODE.endLoop, [yes, ...body(round, ...inside)], [], { target: start });
    return results;
  }
}

/**
 * y = x flipped, then doubled three times by an operator of the user's, with a trace that is right where `middle` is 4.
 */
export function tracedFile(middle = 4) {
  const f = new RushFile();
  const pair = (/** @type {number} */ a, /** @type {number} */ b) => f.tensor(Float32Array.of(a, b), [2]);
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [2] }], outputs: ['y'] }, (m, x) => {
    m.at = f.source('model.py', 3, 12);
    const y = m.op('aten::flip', [x, f.ints([-1])]);
    m.at = f.source('model.py', 4, 11);
    return m.loop(f.int(3), [y], (_, v) => {
      m.at = f.source('model.py', 5, 7);
      return [m.op('my_ops::twice', [v], 'Tensor', 'my_ops::twice(Tensor x) -> Tensor')];
    })[0];
  });
  f.test(0, [pair(2, 1)], ['Tensor'], pair(8, 16));
  f.traced(0, 7, [pair(2, 4)])
    .traced(0, 7, [pair(middle, 8)])
    .traced(0, 7, [pair(8, 16)])
    .traced(0, 12, [pair(1, 2)]);
  return f;
}

/** A file that gives its input back, flipped along the last dimension. */
export function flipFile({ shape = [null, 2], dtype = 'float32' } = {}) {
  const f = new RushFile();
  f.meta('producer', 'tests/js');
  f.method('forward', { inputs: [{ name: 'x', dtype, shape }], outputs: ['y'] }, (m, x) =>
    m.op('aten::flip', [x, f.ints([-1])]),
  );
  return f;
}

/** A model of a bit more than 9 MB that gives its first two weights: `first`, and `step`. Those behind rise by it. */
export function weightsFile(first, step = 1) {
  const f = new RushFile(),
    data = Float32Array.from({ length: 9 << 18 }, (_, i) => i * step);
  data[0] = first;
  const w = f.tensor(data, [data.length], { name: 'big' });
  f.method('forward', { outputs: ['y'] }, (m) => m.op('aten::slice.Tensor', [w, f.int(0), f.int(0), f.int(2)]));
  return f;
}
