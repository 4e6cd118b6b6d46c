// Finds text in a page that is hard to read.

/** Texts of this page whose color is too near to what lies behind them, by WCAG's rule AA. */
export function unreadable() {
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (
    new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
  );
  /** Its luminance when painted over what is there. @param {string} color */
  const paint = (color) => {
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [r = 0, g = 0, b = 0] = [...context.getImageData(0, 0, 1, 1).data].map((v) =>
      v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  /** What an element paints behind its texts. A group of SVG begins with its box. @param {Element} element */
  const groundOf = (element) => {
    const box = element instanceof SVGGElement ? element.querySelector(':scope > rect:first-child') : null;
    return box ? getComputedStyle(box).fill : getComputedStyle(element).backgroundColor;
  };
  const found = new Set(),
    walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent?.trim(),
      element = /** @type {Element} */ (walker.currentNode.parentElement);
    const hidden =
      !element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) ||
      element.closest(':disabled, .visually-hidden, script, style, option');
    if (!text || hidden) continue;
    const over = [];
    for (let e = /** @type {Element | null} */ (element); e; e = e.parentElement) over.unshift(groundOf(e));
    paint(matchMedia('(prefers-color-scheme: dark)').matches ? '#000' : '#fff');
    const behind = over.map(paint).at(-1) ?? 0;
    const style = getComputedStyle(element),
      size = Number.parseFloat(style.fontSize);
    const front = paint(element instanceof SVGElement ? style.fill : style.color);
    const ratio = (Math.max(front, behind) + 0.05) / (Math.min(front, behind) + 0.05);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (ratio < least) found.add(`${ratio.toFixed(2)}: ${text.slice(0, 40)}`);
  }
  return [...found];
}
