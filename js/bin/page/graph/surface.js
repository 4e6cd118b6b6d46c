// The scrolled area with the drawing: zoom, drag, and clicks on items.

/**
 * @typedef {object} Clicks
 * @property {(id: string) => void} select
 * @property {(id: string) => void} fold
 */

/** The least scale at which texts are readable. */
const READABLE = 0.8;
const MIN_SCALE = 0.1,
  MAX_SCALE = 3;
/** A pointer that moves farther drags, in pixels. */
const STILL = 4;

export class Surface {
  #element;
  #scale = 1;
  /** @type {SVGSVGElement | undefined} */ #svg;

  /** @param {HTMLElement} element @param {Clicks} clicks */
  constructor(element, clicks) {
    this.#element = element;
    element.addEventListener('click', ({ target }) => {
      const fold = /** @type {Element} */ (target).closest('[data-fold]')?.getAttribute('data-fold');
      const item = /** @type {Element} */ (target).closest('[data-item]')?.getAttribute('data-item');
      if (fold) clicks.fold(fold);
      else if (item) clicks.select(item);
    });
    element.addEventListener('dblclick', ({ target }) => {
      const group = /** @type {Element} */ (target).closest('.group')?.getAttribute('data-item');
      if (group && !(/** @type {Element} */ (target).closest('.fold, .step'))) clicks.fold(group);
    });
    element.addEventListener(
      'wheel',
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 200), event);
      },
      { passive: false },
    );
    this.#drag();
  }

  /** A mouse drags the drawing. Fingers scroll it. */
  #drag() {
    const element = this.#element;
    /** @type {{ x: number, y: number, left: number, top: number, moved: boolean } | undefined} */ let from;
    element.addEventListener('pointerdown', ({ pointerType, button, clientX, clientY }) => {
      if (pointerType === 'mouse' && button === 0)
        from = { x: clientX, y: clientY, left: element.scrollLeft, top: element.scrollTop, moved: false };
    });
    window.addEventListener('pointermove', ({ clientX, clientY }) => {
      if (!from) return;
      from.moved ||= Math.hypot(clientX - from.x, clientY - from.y) > STILL;
      if (from.moved) element.scrollTo(from.left + from.x - clientX, from.top + from.y - clientY);
    });
    window.addEventListener('pointerup', () => {
      if (from?.moved)
        element.addEventListener('click', (event) => event.stopPropagation(), { once: true, capture: true });
      from = undefined;
    });
  }

  /** @param {SVGSVGElement} svg */
  draw(svg) {
    const { scrollLeft, scrollTop } = this.#element;
    this.#svg = svg;
    this.#size();
    this.#element.replaceChildren(svg);
    this.#element.scrollTo(scrollLeft, scrollTop);
  }

  #size() {
    const { width = 0, height = 0 } = this.#svg?.viewBox.baseVal ?? {};
    this.#svg?.setAttribute('width', String(Math.round(width * this.#scale)));
    this.#svg?.setAttribute('height', String(Math.round(height * this.#scale)));
  }

  /**
   * Changes the scale, and keeps the place under the pointer, or the middle.
   * @param {number} factor
   * @param {{ clientX: number, clientY: number }} [at]
   */
  zoom(factor, at) {
    const element = this.#element,
      box = element.getBoundingClientRect(),
      before = this.#scale;
    const [x, y] = [at ? at.clientX - box.left : box.width / 2, at ? at.clientY - box.top : box.height / 2];
    this.#scale = Math.min(MAX_SCALE, Math.max(MIN_SCALE, before * factor));
    const ratio = this.#scale / before;
    this.#size();
    element.scrollTo((element.scrollLeft + x) * ratio - x, (element.scrollTop + y) * ratio - y);
  }

  /** Fits the width of the drawing into the area, as far as its texts stay readable. */
  fit() {
    const { width = 0, height = 0 } = this.#svg?.viewBox.baseVal ?? {};
    const { clientWidth, clientHeight } = this.#element;
    const whole = Math.min(clientWidth / (width || 1), clientHeight / (height || 1)),
      wide = clientWidth / (width || 1);
    this.#scale = Math.min(1, Math.max(whole, Math.min(wide, 1), READABLE));
    this.#size();
    this.#element.scrollTo((this.#element.scrollWidth - clientWidth) / 2, 0);
  }

  /** @param {string} id */
  #box(id) {
    return this.#element.querySelector(`[data-item="${id}"]`)?.getBoundingClientRect();
  }

  /**
   * Keeps an item in its place on the screen while the drawing changes.
   * @param {string} id
   * @param {() => void} change
   */
  keep(id, change) {
    const before = this.#box(id);
    change();
    const after = this.#box(id);
    if (before && after) this.#element.scrollBy(after.left - before.left, after.top - before.top);
  }

  /** Scrolls to an item that is outside of the area. @param {string} id */
  reveal(id) {
    const box = this.#box(id),
      area = this.#element.getBoundingClientRect();
    if (!box) return;
    const [outX, outY] = [
      box.left < area.left || box.right > area.right,
      box.top < area.top || box.bottom > area.bottom,
    ];
    this.#element.scrollBy(
      outX ? box.left + box.width / 2 - area.left - area.width / 2 : 0,
      outY ? box.top + Math.min(box.height, area.height) / 2 - area.top - area.height / 2 : 0,
    );
  }
}
