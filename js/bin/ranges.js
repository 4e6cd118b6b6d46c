// Finds the range of integers that an input may have. If embeddings read the input, its numbers are rows of a table.

/**
 * @typedef {import('../src/api/graph.js').Item} Item
 * @typedef {import('../src/api/graph.js').Weight} Weight
 */

/** The arguments with the table and with the row numbers. @type {Record<string, [number, number]>} */
const TAKES_ROWS = {
  'aten::embedding': [0, 1],
  'aten::embedding_bag': [0, 1],
  'aten::embedding_bag.padding_idx': [0, 1],
  'aten::index.Tensor_hacked_twin': [0, 1],
  'rush::embedding_rows': [0, 1],
};

/** Operators that return the numbers of their argument in another form. */
const SAME =
  /^aten::(?:to|view|reshape|flatten|unflatten|unsqueeze|squeeze|slice|select|narrow|expand|transpose|permute|t|contiguous|clone|detach|alias|chunk|split|stack|cat|_unsafe_view|view_as|reshape_as|_to_copy|type_as)(?:\.|$)|^prim::List(?:Construct|Unpack)$/;

/**
 * Returns the number of rows of the smallest table that an input's numbers index; undefined if there is none, or if the
 * table is computed.
 * @param {import('../src/api/graph.js').Graph} graph @param {string} input its name
 * @returns {number | undefined}
 */
export function rowsFor(graph, input) {
  let least = Infinity;
  const seen = new Set(),
    todo = graph.nodes.filter((node) => node.op === 'placeholder' && node.target === input);
  for (let node = todo.pop(); node; node = todo.pop()) {
    for (const user of node.users) {
      const [table, rows] = TAKES_ROWS[user.target] ?? [];
      const shape =
        table === undefined ? undefined : /** @type {Partial<Weight> | undefined} */ (user.args[table])?.shape;
      if (shape && rows !== undefined && takesValue(user.args[rows], node))
        least = Math.min(least, /** @type {number} */ (shape[0]));
      if (!SAME.test(user.target) || seen.has(user)) continue;
      seen.add(user);
      todo.push(user);
    }
  }
  return least < Infinity ? least : undefined;
}

/**
 * Tests whether an argument is a result of a node, also in a list.
 * @param {unknown} arg
 * @param {unknown} node
 * @returns {boolean}
 */
const takesValue = (arg, node) =>
  arg === node ||
  /** @type {Partial<Item> | null} */ (arg)?.node === node ||
  (Array.isArray(arg) && arg.some((item) => takesValue(item, node)));
