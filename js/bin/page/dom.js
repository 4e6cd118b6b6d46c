/**
 * Makes an element with properties and content.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Partial<HTMLElementTagNameMap[K]>} [set]
 * @param {(Node | string)[]} content
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, set = {}, ...content) {
  const element = Object.assign(document.createElement(tag), set);
  element.append(...content);
  return element;
}
