// Gives the tabs of code groups the same ids in every build. The ids of VitePress are random, so that the scripts of
// each build would have other names.

/** A plugin of markdown-it. @param {any} md */
export function sameTabs(md) {
  const render = md.renderer.rules['container_code-group_open'];
  md.renderer.rules['container_code-group_open'] = (/** @type {any} */ tokens, /** @type {number} */ at, ...rest) => {
    /** @type {Map<string, number>} */ const tabs = new Map();
    const numbered = (/** @type {string} */ _all, /** @type {string} */ name, /** @type {string} */ id) => {
      if (!tabs.has(id)) tabs.set(id, tabs.size);
      return `${name}="tab-${at}-${tabs.get(id)}"`;
    };
    return render(tokens, at, ...rest)
      .replaceAll(/name="group-[\w-]+"/g, `name="group-${at}"`)
      .replaceAll(/(id|for)="tab-([\w-]+)"/g, numbered);
  };
}
