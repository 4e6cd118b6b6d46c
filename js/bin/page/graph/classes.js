// The classes of the modules, from PyTorch's own text of a model.

/**
 * Reads lines such as `(conv1): Conv2d(3, 8, ...)`, and `original_name=Conv2d` where TorchScript prints the class.
 * @param {string} text
 * @returns {Map<string, string>} classes by the path of the module
 */
export function classesOf(text) {
  /** @type {Map<string, string>} */ const classes = new Map();
  /** @type {{ indent: number, name: string }[]} */ const open = [];
  for (const line of text.split('\n')) {
    const indent = line.search(/\S/),
      [, name, type] = /^\s*\(([^)]+)\): (\w+)/.exec(line) ?? [];
    const original = /original_name=(\w+)/.exec(line)?.[1];
    if (name !== undefined) {
      while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
      open.push({ indent, name });
    }
    const path = open.map((module) => module.name).join('.');
    const found = original ?? type;
    if (found && (name !== undefined || original) && (original || !classes.has(path))) classes.set(path, found);
  }
  return classes;
}

/**
 * Finds a module. The paths of nodes lack lists of modules, such as `layers` of `layers.0.attn`; the path that has the
 * names in this order and ends alike is the one.
 * @param {Iterable<string>} paths
 * @param {string} path of a node
 */
export function moduleAt(paths, path) {
  const names = path.split('.');
  for (const known of paths) {
    if (known === path) return known;
    const parts = known.split('.');
    let at = 0;
    for (const part of parts) if (part === names[at]) at++;
    if (at === names.length && parts.at(-1) === names.at(-1)) return known;
  }
  return undefined;
}
