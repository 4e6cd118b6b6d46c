// The graph of the page of `npx rushlight serve`: its groups, its layout, and the texts that it reads.

import assert from 'node:assert/strict';
import test from 'node:test';

import { classesOf, moduleAt } from '../../js/bin/page/graph/classes.js';
import { matchesOf } from '../../js/bin/page/graph/find.js';
import { layoutOf } from '../../js/bin/page/graph/layout.js';
import { firstOpen, groupsAround, nodesOf, treeOf } from '../../js/bin/page/graph/tree.js';
import { binsOf } from '../../js/bin/page/histogram.js';
import { Graph } from '../../js/src/api/graph.js';

/** @typedef {import('../../js/bin/page/graph/tree.js').Item} Item */

/**
 * A graph of instructions: [code, operator, module, operands, results]. Register 0 is the input.
 * @param {[string, string, string, number[], number[]][]} steps
 */
function graphOf(steps) {
  const registers = 1 + Math.max(0, ...steps.flatMap(([, , , , out]) => out));
  return new Graph(
    {
      name: 'forward',
      inputs: 1,
      registers: Array.from({ length: registers }, (_, i) => ({ name: `r${i}`, type: 'Tensor' })),
      instructions: steps.map(([code, op, , operands, out], i) => ({
        code,
        ...(op && { op }),
        in: operands,
        out,
        source: i,
      })),
    },
    {
      methods: [],
      constants: [],
      texts: [],
      sources: steps.map(([, , module]) => ({ file: 'model.py', line: 1, function: 'forward', module })),
    },
    ['x'],
  );
}

/** The labels of a group's children, with those of groups in brackets. @param {Item[]} items @returns {string} */
const shown = (items) =>
  items
    .map((item) =>
      item.children
        ? `${item.label}(${shown(item.children)})`
        : [item.label, item.node.target.replace('aten::', '')].filter(Boolean).join(':'),
    )
    .join(' ');

/** @param {number} n @param {(i: number) => string} moduleOf */
const chain = (n, moduleOf) =>
  graphOf([
    ...Array.from(
      { length: n },
      (_, i) =>
        /** @type {[string, string, string, number[], number[]]} */ (['op', 'aten::relu', moduleOf(i), [i], [i + 1]]),
    ),
    ['return', '', '', [n], []],
  ]);

test('modules are groups, single children take the names of their groups, and calls are apart', () => {
  const graph = graphOf([
    ['op', 'aten::conv2d', 'layer1.0.conv1', [0], [1]],
    ['op', 'aten::relu', 'layer1.0.relu', [1], [2]],
    ['op', 'aten::size', '', [2], [3]], // belongs to what is around it
    ['op', 'aten::conv2d', 'layer1.0.conv2', [3], [4]],
    ['op', 'aten::relu', 'layer1.0.relu', [4], [5]],
    ['op', 'rush::chain', '', [], []],
    ['op', 'aten::add', 'head.add', [5], [6]],
    ['return', '', '', [6], []],
  ]);
  const { root, itemOf } = treeOf(graph);
  assert.equal(
    shown(root.children),
    'r0 layer1.0(conv1:conv2d relu:relu size conv2:conv2d relu:relu) head.add:add output',
  );
  // The value that enters the group and the value that leaves it are lines of the group, too.
  const group = root.children[1];
  assert(group?.children);
  const ends = group.lines.map(({ from, to }) => `${from?.label ?? '<'} ${to?.label ?? '>'}`);
  assert.deepEqual(ends, ['< conv1', 'conv1 relu', 'relu ', ' conv2', 'conv2 relu', 'relu >']);
  assert.equal(root.lines.length, 3);
  assert.deepEqual(
    groupsAround(/** @type {Item} */ (itemOf.get(/** @type {any} */ (graph.nodes[1])))).map((g) => g.label),
    ['', 'layer1.0'],
  );
  assert.equal(nodesOf(root).length, graph.nodes.length - 1); // all but the mark of the chain
});

test('branches and loops are groups, and values enter and leave them', () => {
  const graph = graphOf([
    ['if', '', '', [0], [3]],
    ['op', 'aten::neg', '', [0], [1]],
    ['else', '', '', [1], []],
    ['op', 'aten::abs', '', [0], [2]],
    ['end_if', '', '', [2], []],
    ['return', '', '', [3], []],
  ]);
  const { root } = treeOf(graph);
  assert.equal(shown(root.children), 'r0 if(then(neg yield) else(abs yield)) output');
  const control = root.children[1];
  assert(control?.children);
  assert.deepEqual(
    control.lines.map(({ from, to }) => `${from?.label ?? '<'} ${to?.label ?? '>'}`),
    ['< then', 'then >', '< else', 'else >'],
  );
});

test('every open group holds its items, which do not overlap', () => {
  const { root } = treeOf(chain(40, (i) => `block.${i >> 3}.${i & 1 ? 'a' : 'b'}`));
  const layout = layoutOf(
    root,
    () => true,
    () => ({ width: 100, height: 40 }),
  );
  let boxes = 0;
  const check = (/** @type {import('../../js/bin/page/graph/layout.js').Layout} */ inside) => {
    for (const [i, a] of inside.boxes.entries()) {
      boxes++;
      assert(a.x >= 0 && a.y >= 0 && a.x + a.width <= inside.width && a.y + a.height <= inside.height);
      for (const b of inside.boxes.slice(i + 1))
        assert(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y);
      if (a.inner) check(a.inner);
    }
    for (const { points } of inside.routes)
      assert(points.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y)));
  };
  check(layout);
  assert(boxes >= 47);
});

test('5,000 steps without modules are divided, and opening a part lays out nothing else again', () => {
  const { root } = treeOf(chain(5000, () => ''));
  assert(root.children.length <= 80 && root.children.every((item) => (item.children?.length ?? 0) <= 80));
  assert.equal(nodesOf(root).length, 5002);
  const open = firstOpen(root),
    kept = new Map();
  const layout = () =>
    layoutOf(
      root,
      ({ id }) => open.has(id),
      () => ({ width: 100, height: 40 }),
      kept,
    );
  const first = layout();
  assert.equal(layout(), first);
  const parts = root.children.filter((item) => item.children !== undefined);
  open.add(/** @type {Item} */ (parts[3]).id);
  layout();
  const before = kept.get(parts[3]);
  open.add(/** @type {Item} */ (parts[4]).id);
  const both = layout();
  assert.equal(kept.get(parts[3]), before);
  assert.equal(both.boxes.filter(({ inner }) => inner).length, 2);
  assert(kept.size === 3); // the whole, and the two open parts
});

test('a first view opens groups as long as few items are visible', () => {
  const { root } = treeOf(chain(60, (i) => `m${Math.floor(i / 10)}.${i % 10}`));
  assert.deepEqual(firstOpen(root), new Set([root.id]));
  assert.equal(firstOpen(root, 100).size, 7);
});

test('words find operators, modules and sources', () => {
  const graph = chain(6, (i) => (i < 3 ? `front.a.${i}` : `back.b.${i}`));
  const { items } = treeOf(graph);
  const facts = { weights: new Map(), layers: new Map(), ports: new Map(), classes: new Map() };
  const found = (/** @type {string} */ text) => matchesOf(items.values(), text, facts).length;
  assert.equal(found('relu'), 6);
  assert.equal(found('RELU back'), 3);
  assert.equal(found('model.py:1 front'), 3);
  assert.equal(found('conv'), 0);
  assert.equal(found('  '), 0);
});

test('classes are read from the texts of scripted and other modules', () => {
  const scripted = classesOf(`RecursiveScriptModule(
  original_name=Net
  (layers): RecursiveScriptModule(
    original_name=ModuleList
    (0): RecursiveScriptModule(
      original_name=Block
      (conv): RecursiveScriptModule(original_name=Conv2d)
    )
  )
)`);
  assert.deepEqual(
    [...scripted],
    [
      ['', 'Net'],
      ['layers', 'ModuleList'],
      ['layers.0', 'Block'],
      ['layers.0.conv', 'Conv2d'],
    ],
  );
  const plain = classesOf('Net(\n  (a): Sequential(\n    (0): Linear(2, 3)\n  )\n  (b): ReLU()\n)');
  assert.deepEqual(
    [...plain],
    [
      ['a', 'Sequential'],
      ['a.0', 'Linear'],
      ['b', 'ReLU'],
    ],
  );
  assert.equal(moduleAt(scripted.keys(), '0.conv'), 'layers.0.conv');
  assert.equal(moduleAt(scripted.keys(), 'layers.0'), 'layers.0');
  assert.equal(moduleAt(scripted.keys(), '1.conv'), undefined);
});

test('a histogram counts finite values', () => {
  const { low, high, counts } = binsOf(Float64Array.of(0, 1, 1, 4, NaN, Infinity), 4);
  assert.deepEqual([low, high, counts], [0, 4, [1, 2, 0, 1]]);
  assert.deepEqual(binsOf(Float64Array.of(3, 3), 2).counts, [2, 0]);
});
