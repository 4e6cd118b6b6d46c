// The program as a graph: one Node for each input and each instruction.

import { exact } from '../base/types.js';

/**
 * @import { Complex, QuantizedTensor, Tensor } from '../base/types.js'
 *
 * @typedef {{ constant: number } | number} Operand
 * @typedef {{ code: string, op?: string, in: Operand[], out: number[], source?: number }} Instruction
 * @typedef {{ name: string, inputs: number, registers: { name: string, type: string }[], instructions: Instruction[] }}
 *   Program
 * @typedef {{ file: string, line: number, function: string, module: string }} SourceLine
 * @typedef {{ int: string } | { float: string | number } | { complex: [Constant, Constant] } | { dict: Constant[] } |
 *   { device?: string, list?: Constant[], tuple?: Constant[], shape?: number[] } | string | boolean | null} Constant
 *   a constant of the program; an object with a shape is a Weight
 * @typedef {{ methods: Program[], constants: Constant[], sources: SourceLine[], texts: TextJson[] }} GraphJson
 * @typedef {{ module: string, kind: 'graph' | 'code' | 'tree', text: string }} TextJson
 *
 * @typedef {'placeholder' | 'call_function' | 'if' | 'loop' | 'yield' | 'output'} NodeOp
 *   the kind of a node, with torch.fx's names. yield ends a branch or an iteration of a loop. Its args are the
 *   values of the block; in a loop, the first one says whether to continue
 *
 * @typedef {object} Weight a tensor of the file as an operand
 * @property {string} tensor its name; "" if it has none
 * @property {string} dtype of the elements
 * @property {number[]} shape the size of each dimension
 *
 * @typedef {object} Output a result of a node
 * @property {string} name unique in the graph
 * @property {string} type as TorchScript's graphs write it
 *
 * @typedef {object} EnumConstant a member of an enum of the program as an operand
 * @property {string} enum its name
 *
 * @typedef {object} ObjectConstant an object of a class of the program as an operand
 * @property {string} object the name of its class
 *
 * @typedef {Node | Item | Weight | number | bigint | boolean | string | null | Complex | EnumConstant |
 *   ObjectConstant | unknown[] | Map<unknown, unknown>} Argument
 *   an operand of a node: another node, one of its results, or a constant
 *
 * @typedef {Omit<Tensor, 'data'> | Omit<QuantizedTensor, 'data'> | unknown[] | Map<unknown, unknown>} ValueMeta
 *   dtype and shape of a tensor, or of the tensors in a list or a dict
 *
 * @typedef {object} KnownMeta data that the tools of rushlight/fx attach to a node
 * @property {ValueMeta} [tensor] dtype and shape of its value, by ShapeProp
 * @property {number} [calls] the number of its runs, by Profiler
 * @property {number} [ms] the time of all runs, by Profiler
 */

/** One of several results of a node. @hideconstructor */
export class Item {
  /** @param {Node} node @param {number} index */
  constructor(node, index) {
    /** The node of this result. */
    this.node = node;
    /** The index of the result. */
    this.index = index;
  }
  /** The result's name. */
  get name() {
    return this.#output.name;
  }
  /** Its type, as TorchScript's graphs write it. */
  get type() {
    return this.#output.type;
  }
  get #output() {
    return /** @type {Output} */ (this.node.outputs[this.index]);
  }
}

/** A step of the program, as a node of torch.fx. @hideconstructor */
export class Node {
  /** Operands: nodes, items of nodes with several results, and constants. @type {Argument[]} */
  args = [];
  /** The nodes that read its results. @type {Set<Node>} */
  users = new Set();
  /** Data that tools attach to the node. @type {KnownMeta & Record<string, unknown>} */
  meta = {};

  /**
   * @param {NodeOp} op
   * @param {string} target
   * @param {Output[]} outputs
   * @param {Node | null} parent
   * @param {number} block
   * @param {SourceLine | undefined} where
   */
  constructor(op, target, outputs, parent, block, where) {
    /** The kind of the node. @type {NodeOp} */
    this.op = op;
    /** The operator, such as "aten::add.Tensor", or the name of a placeholder. */
    this.target = target;
    /** Names and types of the results. A loop also has its iteration and the values inside, after its own. */
    this.outputs = outputs;
    /** The `if` or `loop` whose block has this node. */
    this.parent = parent;
    /** The number of the block: 0, or 1 for `else`. */
    this.block = block;
    /** `"model.py:12"`, or "". */
    this.source = where?.file ? `${where.file}:${where.line}` : '';
    /** The submodule of the node, if the file names it. */
    this.module = where?.module ?? '';
    /** The name of its first result, which is unique among nodes with results. */
    this.name = outputs[0]?.name ?? op;
  }

  /** The number of blocks around it. @returns {number} */
  get depth() {
    return this.parent ? this.parent.depth + 1 : 0;
  }

  /** All nodes whose results it reads, each once. @returns {Node[]} */
  get inputs() {
    const nodes = this.args.map((a) => (a instanceof Item ? a.node : a)).filter((a) => a instanceof Node);
    return [...new Set(/** @type {Node[]} */ (nodes))];
  }

  /** Returns the node in TorchScript's notation. */
  toString() {
    return print(this);
  }
}

/** @param {Constant} c @returns {Argument} */
function constant(c) {
  if (c === null || typeof c !== 'object') return c;
  if ('int' in c) return exact(BigInt(c.int));
  if ('float' in c) return Number(c.float);
  if ('complex' in c)
    return { re: /** @type {number} */ (constant(c.complex[0])), im: /** @type {number} */ (constant(c.complex[1])) };
  if ('dict' in c)
    return new Map(
      c.dict.flatMap((k, i) =>
        i % 2
          ? []
          : [/** @type {[Argument, Argument]} */ ([constant(k), constant(/** @type {Constant} */ (c.dict[i + 1]))])],
      ),
    );
  return c.device ?? (c.list ?? c.tuple)?.map(constant) ?? /** @type {Weight} */ (c);
}

/** A method of the program. @hideconstructor */
export class Graph {
  /** Inputs, then the instructions in order. Those of a block follow their `if` or `loop`. @type {Node[]} */
  nodes = [];

  /**
   * @param {Program} program
   * @param {GraphJson} json
   * @param {string[]} inputs names for inputs that have none in the file
   */
  constructor(program, json, inputs) {
    /** The method's name. */
    this.name = program.name;
    const taken = new Set();
    const registers = program.registers.map(({ name, type }, r) => {
      name ||= inputs[r] || String(r);
      if (taken.has(name)) name += `_${r}`;
      taken.add(name);
      return { name, type };
    });
    /** @type {(Node | Item)[]} */
    const values = [];
    const port = (/** @type {number} */ r) => /** @type {Output} */ (registers[r]);
    for (let r = 0; r < program.inputs; r++) {
      this.nodes.push((values[r] = new Node('placeholder', port(r).name, [port(r)], null, 0, undefined)));
    }
    let parent = /** @type {Node | null} */ (null);
    let block = 0;
    const define = (/** @type {Node} */ node, /** @type {number[]} */ out) =>
      out.forEach((r, i) => {
        values[r] = out.length === 1 ? node : new Item(node, i);
      });
    for (const { code, op, in: operands, out, source } of program.instructions) {
      const kind = /** @type {NodeOp} */ (
        { op: 'call_function', else: 'yield', end_if: 'yield', end_loop: 'yield', return: 'output' }[code] ?? code
      );
      const target = op ?? { if: 'prim::If', loop: 'prim::Loop' }[code] ?? kind;
      /** @type {Node} */
      const node = new Node(
        kind,
        target,
        out.map(port),
        parent,
        block,
        source === undefined ? undefined : json.sources[source],
      );
      node.args = operands.map((o) =>
        typeof o === 'number'
          ? /** @type {Node} */ (values[o])
          : constant(/** @type {Constant} */ (json.constants[o.constant])),
      );
      for (const input of node.inputs) input.users.add(node);
      this.nodes.push(node);
      define(node, out);
      if (code === 'if' || code === 'loop') [parent, block] = [node, 0];
      else if (code === 'else') block = 1;
      else if (code.startsWith('end_')) ({ block, parent } = /** @type {Node} */ (parent));
    }
  }

  /** Returns the graph in TorchScript's notation. */
  toString() {
    const inputs = this.nodes.filter((n) => n.op === 'placeholder').map((n) => `%${n.name} : ${n.outputs[0]?.type}`);
    return [
      `graph(${inputs.join(',\n      ')}):`,
      ...this.nodes.filter((n) => n.op !== 'placeholder').flatMap(lines),
    ].join('\n');
  }
}

/** Prints a node, with the lines of its blocks. @param {Node} node */
function lines(node) {
  const pad = '  '.repeat(2 * node.depth + 1);
  const found = [pad + print(node)];
  if (node.op === 'if') found.push(`${pad}  block0():`);
  if (node.op === 'loop')
    found.push(
      `${pad}  block0(${node.outputs
        .slice((node.outputs.length - 1) / 2)
        .map((o) => `%${o.name} : ${o.type}`)
        .join(', ')}):`,
    );
  if (node.op === 'yield' && node.parent?.op === 'if' && node.block === 0)
    found.push(`${'  '.repeat(2 * node.depth)}block1():`);
  return found;
}

/** @param {unknown} a an Argument @returns {string} */
function operand(a) {
  if (a instanceof Node || a instanceof Item) return `%${a.name}`;
  if (a === null) return 'None';
  if (typeof a === 'boolean') return a ? 'True' : 'False';
  if (typeof a === 'string') return JSON.stringify(a);
  if (Array.isArray(a)) return `[${a.map(operand).join(', ')}]`;
  if (a instanceof Map) return `{${[...a].map(([k, v]) => `${operand(k)}: ${operand(v)}`).join(', ')}}`;
  const other = /** @type {Partial<Weight & Complex & EnumConstant & ObjectConstant>} */ (a);
  return (
    other.enum ??
    other.object ??
    (other.shape
      ? `${other.tensor || 'tensor'}[${other.shape.join(', ')}]`
      : String(other.re === undefined ? a : JSON.stringify(a)))
  );
}

/** @param {Node} node */
function print({ op, target, outputs, args, source }) {
  const given = args.map(operand).join(', ');
  if (op === 'placeholder') return `%${target} : ${outputs[0]?.type}`;
  if (op === 'yield') return `-> (${given})`;
  if (op === 'output') return `return (${given})`;
  const shown = op === 'loop' ? outputs.slice(0, (outputs.length - 1) / 2) : outputs;
  const results = shown.map((o) => `%${o.name} : ${o.type}`).join(', ');
  return `${results}${results && ' = '}${target}(${given})${source && ` # ${source}`}`;
}
