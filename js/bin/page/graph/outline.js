// The graph as a tree for keyboards and screen readers, by the pattern "Tree View" of the ARIA Authoring Practices. One
// item at a time is in the order of the Tab key.

import { make } from '../dom.js';
import { linesOf, titleOf } from './labels.js';

/**
 * @typedef {import('./tree.js').Item} Item
 * @typedef {import('./tree.js').Group} Group
 * @typedef {import('./labels.js').Facts} Facts
 *
 * @typedef {object} Actions
 * @property {(item: Item) => void} select
 * @property {(group: Group, open: boolean) => void} fold
 */

/** The longest time between two letters of a name that is typed, in ms. */
const TYPING = 700;

export class Outline {
  #element;
  #actions;
  /** @type {Item[]} the visible items, from top to bottom */ #items = [];
  /** @type {(item: Item) => boolean} */ #isOpen = () => false;
  /** @type {Item | undefined} */ #current;
  /** @type {Facts} */ #facts = { weights: new Map(), layers: new Map(), ports: new Map(), classes: new Map() };
  #typed = { text: '', at: 0 };

  /** @param {HTMLElement} element @param {Actions} actions */
  constructor(element, actions) {
    this.#element = element;
    this.#actions = actions;
    element.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.#key(event.key)) return;
      event.preventDefault();
    });
    element.addEventListener('click', (event) => {
      const row = /** @type {Element} */ (event.target).closest('[role=treeitem]');
      const item = this.#items[[...element.children].indexOf(/** @type {Element} */ (row))];
      if (!item) return;
      if (item.children && /** @type {Element} */ (event.target).closest('.twist'))
        this.#fold(item, !this.#isOpen(item));
      else this.#select(item);
    });
  }

  /**
   * @param {Group} root
   * @param {(item: Item) => boolean} isOpen
   * @param {Item | undefined} selected
   * @param {Facts} facts
   */
  draw(root, isOpen, selected, facts) {
    const focused = this.#element.contains(document.activeElement);
    this.#isOpen = isOpen;
    this.#facts = facts;
    this.#items = [];
    const rows = this.#rows(root, 1, selected, facts);
    if (selected && this.#items.includes(selected)) this.#current = selected;
    else if (!this.#current || !this.#items.includes(this.#current)) this.#current = this.#items[0];
    this.#element.replaceChildren(...rows);
    const row = this.#row(this.#current);
    if (row) row.tabIndex = 0;
    if (focused) row?.focus();
    else if (row && selected) this.#show(row);
  }

  /**
   * @param {Group} group
   * @param {number} level
   * @param {Item | undefined} selected
   * @param {Facts} facts
   * @returns {HTMLElement[]}
   */
  #rows(group, level, selected, facts) {
    return group.children.flatMap((item, i) => {
      const open = this.#isOpen(item);
      const row = make(
        'div',
        { className: item.children ? 'module' : '', tabIndex: -1, title: linesOf(item, facts).join(' · ') },
        make('span', { className: 'twist', ariaHidden: 'true' }, item.children ? (open ? '▾' : '▸') : ''),
        titleOf(item, facts),
        ...(item.children || !item.label ? [] : [make('span', { className: 'quiet' }, ` ${item.label}`)]),
      );
      row.role = 'treeitem';
      row.ariaLevel = String(level);
      row.ariaPosInSet = String(i + 1);
      row.ariaSetSize = String(group.children.length);
      row.ariaSelected = String(item === selected);
      if (item.children) row.ariaExpanded = String(open);
      row.style.setProperty('--level', String(level - 1));
      this.#items.push(item);
      return [row, ...(item.children && open ? this.#rows(item, level + 1, selected, facts) : [])];
    });
  }

  /** @param {Item | undefined} item */
  #row(item) {
    return item && /** @type {HTMLElement | undefined} */ (this.#element.children[this.#items.indexOf(item)]);
  }

  /** Scrolls the tree alone, not the page. @param {HTMLElement} row */
  #show(row) {
    const top = row.offsetTop - this.#element.offsetTop;
    const { scrollTop, clientHeight } = this.#element;
    if (top < scrollTop || top + row.offsetHeight > scrollTop + clientHeight)
      this.#element.scrollTop = top - clientHeight / 2;
  }

  /** @param {Item | undefined} item */
  #select(item) {
    if (!item) return;
    for (const row of this.#element.querySelectorAll('[tabindex="0"]')) /** @type {HTMLElement} */ (row).tabIndex = -1;
    this.#current = item;
    const row = this.#row(item);
    if (row) row.tabIndex = 0;
    row?.focus();
    this.#actions.select(item);
  }

  /** @param {Group} group @param {boolean} open */
  #fold(group, open) {
    this.#current = group;
    this.#actions.fold(group, open);
  }

  /** Does what a key asks for. @param {string} key @returns {boolean} whether the key has a meaning */
  #key(key) {
    const item = this.#current,
      at = item ? this.#items.indexOf(item) : -1;
    if (!item) return false;
    const move = (/** @type {number} */ to) => (this.#select(this.#items[to]), true);
    switch (key) {
      case 'ArrowDown':
        return move(at + 1);
      case 'ArrowUp':
        return move(at - 1);
      case 'Home':
        return move(0);
      case 'End':
        return move(this.#items.length - 1);
      case 'ArrowRight':
        if (!item.children) return true;
        return this.#isOpen(item) ? move(at + 1) : (this.#fold(item, true), true);
      case 'ArrowLeft':
        if (item.children && this.#isOpen(item)) return (this.#fold(item, false), true);
        return !item.parent?.parent || (this.#select(item.parent), true);
      case 'Enter':
      case ' ':
        if (item.children) this.#fold(item, !this.#isOpen(item));
        return move(this.#items.indexOf(item));
      default:
        return key.length === 1 && this.#typeahead(key);
    }
  }

  /** Goes to the next item whose title begins with the typed letters. @param {string} letter */
  #typeahead(letter) {
    const now = performance.now();
    const text = (now - this.#typed.at < TYPING ? this.#typed.text : '') + letter.toLowerCase();
    this.#typed = { text, at: now };
    const from = this.#items.indexOf(/** @type {Item} */ (this.#current)) + (text.length > 1 ? 0 : 1);
    const around = [...this.#items.slice(from), ...this.#items.slice(0, from)];
    this.#select(around.find((item) => titleOf(item, this.#facts).toLowerCase().startsWith(text)));
    return true;
  }
}
