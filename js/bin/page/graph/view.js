// The graph of a method: a tree, a drawing and the details of the selected item, which follow each other.

import { Graph } from '../../../src/api/graph.js';
import { weightsOf } from '../../weights.js';
import { make } from '../dom.js';
import { showOutput } from '../outputs.js';
import { classesOf } from './classes.js';
import { comparison } from './compare.js';
import { detailOf, shownResults, shownWeights } from './detail.js';
import { graphDrawing, sizeOf } from './draw.js';
import { matchesOf } from './find.js';
import { titleOf } from './labels.js';
import { layoutOf } from './layout.js';
import { Outline } from './outline.js';
import { Surface } from './surface.js';
import { firstOpen, groupsAround, treeOf } from './tree.js';
import { valuesAt } from './values.js';
import { weightNamed } from './weights.js';

/**
 * @typedef {import('./tree.js').Item} Item
 * @typedef {import('./tree.js').Group} Group
 * @typedef {import('./labels.js').Facts} Facts
 * @typedef {import('../../../src/api/model.js').Model} Model
 * @typedef {import('../../../src/api/graph.js').Node} Node
 * @typedef {import('../../../src/base/types.js').InputValue} InputValue
 * @typedef {{ method: string, inputs: Record<string, InputValue> }} Run
 */

/** The most items that are drawn at a time. */
const MAX_ITEMS = 600;

/** Shown before the first method is. */
const EMPTY = new Graph(
  { name: '', inputs: 0, registers: [], instructions: [] },
  { methods: [], constants: [], sources: [], texts: [] },
  [],
);

/** @template {HTMLElement} T @param {string} id @returns {T} */
const get = (id) => /** @type {T} */ (document.getElementById(id));

export class GraphView {
  #model;
  #outline;
  #surface;
  /** @type {ReturnType<typeof treeOf>} */ #tree = treeOf(EMPTY);
  /** @type {Set<string>} */ #open = new Set();
  /** @type {Map<Group, import('./layout.js').Layout>} */ #kept = new Map();
  /** @type {Facts} */ #facts = { weights: new Map(), layers: new Map(), ports: new Map(), classes: new Map() };
  /** @type {import('./draw.js').Marks} */ #marks = { selected: undefined, found: new Set(), differs: undefined };
  /** @type {Item[]} */ #matches = [];
  /** @type {Run | undefined} */ #run;
  #method = '';
  #descriptions = 0;

  /** @param {Model} model */
  constructor(model) {
    this.#model = model;
    this.#outline = new Outline(get('outline'), {
      select: (item) => this.select(item),
      fold: (group, open) => this.#fold(group, open),
    });
    this.#surface = new Surface(get('drawing'), {
      select: (id) => this.select(/** @type {Item} */ (this.#tree.items.get(id))),
      fold: (id) => this.#fold(/** @type {Group} */ (this.#tree.items.get(id)), !this.#open.has(id)),
    });
    get('zoom-in').onclick = () => this.#surface.zoom(1.25);
    get('zoom-out').onclick = () => this.#surface.zoom(0.8);
    get('zoom-fit').onclick = () => this.#surface.fit();
    get('fold-all').onclick = () => this.#reopen(firstOpen(this.#tree.root));
    get('unfold').onclick = () => this.#unfold();
    get('compare').onclick = () => this.#compare();
    const find = /** @type {HTMLInputElement} */ (get('find'));
    find.oninput = () => this.#find(find.value);
    find.onkeydown = ({ key, shiftKey }) => {
      if (key === 'Enter') this.#next(shiftKey ? -1 : 1); // a handler that returns false cancels the key
    };
    get('next').onclick = () => this.#next(1);
    get('previous').onclick = () => this.#next(-1);
    get('graph').hidden = false;
  }

  /** Shows a method. @param {string} method */
  show(method) {
    if (method === this.#method) return;
    const graph = /** @type {import('../../../src/api/graph.js').Graph} */ (this.#model.graphs[method]);
    this.#method = method;
    this.#tree = treeOf(graph);
    this.#kept.clear();
    this.#run = undefined;
    this.#marks = { selected: undefined, found: new Set(), differs: undefined };
    this.#facts = factsOf(graph, this.#model.methods[method]?.inputs ?? [], this.#model.torch['']?.tree ?? '');
    this.#open = firstOpen(this.#tree.root);
    this.#draw();
    this.#surface.fit();
    this.#describe(
      make('p', { className: 'quiet' }, 'Select an operator or a module to see its weights, its code and its values.'),
    );
    this.#find(/** @type {HTMLInputElement} */ (get('find')).value);
  }

  /**
   * Shows shapes and times of a run.
   * @param {Run} run
   * @param {import('../../layers.js').Layer[]} layers
   */
  ran(run, layers) {
    this.show(run.method);
    this.#run = run;
    this.#facts.layers = new Map(layers.map((layer) => [layer.name, layer]));
    this.#kept.clear(); // shapes and times need room
    this.#draw();
    this.#surface.fit();
    if (this.#marks.selected) this.select(this.#marks.selected);
  }

  #isOpen = (/** @type {Item} */ { id }) => this.#open.has(id);

  #draw() {
    const { root } = this.#tree;
    this.#outline.draw(root, this.#isOpen, this.#marks.selected, this.#facts);
    const layout = layoutOf(root, this.#isOpen, (item) => sizeOf(item, this.#facts), this.#kept);
    const found = new Set([...this.#marks.found].map((item) => this.#visible(item)));
    const [selected, differs] = [this.#marks.selected, this.#marks.differs].map((item) => item && this.#visible(item));
    this.#surface.draw(graphDrawing(layout, this.#facts, { selected, differs, found }));
  }

  /** Returns the item, or the closed group that hides it. @param {Item} item */
  #visible(item) {
    return groupsAround(item).find((group) => !this.#isOpen(group)) ?? item;
  }

  /** @param {Set<string>} open */
  #reopen(open) {
    this.#open = open;
    this.#setStatus('');
    this.#draw();
    this.#surface.fit();
  }

  /** @param {Group} group @param {boolean} open */
  #fold(group, open) {
    if (open && this.#count([group]) > MAX_ITEMS) return this.#setStatus(TOO_MANY);
    if (open) this.#open.add(group.id);
    else this.#open.delete(group.id);
    this.#setStatus('');
    this.#surface.keep(group.id, () => this.#draw());
  }

  /** Opens every group that is visible and closed. */
  #unfold() {
    const groups = this.#shown(this.#tree.root).filter((item) => item.children && !this.#isOpen(item));
    if (this.#count(/** @type {Group[]} */ (groups)) > MAX_ITEMS) return this.#setStatus(TOO_MANY);
    this.#reopen(new Set([...this.#open, ...groups.map(({ id }) => id)]));
  }

  /** Returns the visible items. @param {Group} group @returns {Item[]} */
  #shown(group) {
    return group.children.flatMap((item) => [item, ...(item.children && this.#isOpen(item) ? this.#shown(item) : [])]);
  }

  /** Returns the number of visible items if these groups were open, too. @param {Group[]} groups */
  #count(groups) {
    return groups.reduce((sum, { children }) => sum + children.length, this.#shown(this.#tree.root).length);
  }

  /** @param {string} text */
  #setStatus(text) {
    get('graph-status').textContent = text;
  }

  /**
   * Replaces the details. Returns a function that tells whether they are still there.
   * @param {...HTMLElement} nodes
   */
  #describe(...nodes) {
    const description = ++this.#descriptions;
    get('node').replaceChildren(...nodes);
    get('node').ariaBusy = 'false';
    return () => description === this.#descriptions;
  }

  /** Selects an item, makes it visible, and shows its details. @param {Item} item */
  async select(item) {
    for (const { id } of groupsAround(item)) this.#open.add(id);
    this.#marks.selected = item;
    this.#draw();
    this.#surface.reveal(item.id);
    const selectNode = (/** @type {Node} */ node) => this.select(/** @type {Item} */ (this.#tree.itemOf.get(node)));
    const wanted = this.#describe(...detailOf(item, this.#facts, this.#model, selectNode));
    if (item.children) return;
    get('node').ariaBusy = 'true';
    await this.#fill(item.node, wanted);
    if (wanted()) get('node').ariaBusy = 'false';
  }

  /** Shows the values and the weights of a node. @param {Node} node @param {() => boolean} wanted */
  async #fill(node, wanted) {
    const [values, weights] = /** @type {NodeListOf<HTMLElement>} */ (get('node').querySelectorAll('.values'));
    const port = this.#facts.ports.get(node),
      run = this.#run;
    const quiet = (/** @type {string} */ text) => [make('p', { className: 'quiet' }, text)];
    const put = async (/** @type {HTMLElement | undefined} */ at, /** @type {() => Promise<HTMLElement[]>} */ make) => {
      const cards = await make().catch((e) => quiet(e instanceof Error ? e.message : String(e)));
      if (wanted()) at?.replaceChildren(...cards);
    };
    await put(weights, () => shownWeights(node, weightNamed));
    if (!run) return;
    if (port !== undefined) return put(values, async () => [showOutput(port, run.inputs[port], { heading: 'h4' })]);
    values?.replaceChildren(...quiet('Reading the values…'));
    await put(values, async () => {
      const results = await valuesAt(this.#model, run, node, wanted);
      return results ? shownResults(node, results) : quiet('The last run did not reach this node.');
    });
  }

  /** @param {string} text */
  #find(text) {
    this.#matches = matchesOf(this.#tree.items.values(), text, this.#facts);
    this.#marks.found = new Set(this.#matches);
    get('matches').textContent = text.trim()
      ? this.#matches.length
        ? `${this.#matches.length} found`
        : 'nothing found'
      : '';
    for (const id of ['next', 'previous']) get(id).hidden = !this.#matches.length;
    this.#draw();
  }

  /** @param {1 | -1} step */
  #next(step) {
    const { length } = this.#matches,
      at = this.#matches.indexOf(/** @type {Item} */ (this.#marks.selected));
    const item = this.#matches[at < 0 ? (step > 0 ? 0 : length - 1) : (at + step + length) % length];
    if (!item) return;
    void this.select(item);
    get('matches').textContent = `${this.#matches.indexOf(item) + 1} of ${length}: ${titleOf(item, this.#facts)}`;
  }

  /** Replays the test vectors of the file, and compares with its trace if there is one. */
  async #compare() {
    const button = /** @type {HTMLButtonElement} */ (get('compare'));
    button.disabled = true;
    this.#setStatus('Comparing…');
    const { text, differs } = await comparison(this.#model);
    const item = differs && this.#tree.itemOf.get(differs);
    this.#marks.differs = item;
    if (item) await this.select(item);
    this.#setStatus(text);
    button.disabled = false;
  }
}

/**
 * Returns the facts of a graph before a run.
 * @param {import('../../../src/api/graph.js').Graph} graph
 * @param {readonly import('../../../src/base/types.js').Port[]} inputs
 * @param {string} modules PyTorch's text of the model
 * @returns {Facts}
 */
function factsOf(graph, inputs, modules) {
  /** @type {Facts['weights']} */ const weights = new Map();
  for (const weight of weightsOf([graph], [])) {
    if (weight.node) weights.set(weight.node, [...(weights.get(weight.node) ?? []), weight]);
  }
  const placeholders = graph.nodes.filter(({ op }) => op === 'placeholder');
  const ports = new Map(placeholders.map((node, i) => [node, inputs[i]?.name ?? node.name]));
  return { weights, layers: new Map(), ports, classes: classesOf(modules) };
}

const TOO_MANY = `At most ${MAX_ITEMS} items are drawn at a time. Fold other modules first.`;
