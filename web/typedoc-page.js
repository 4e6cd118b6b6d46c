// Runs in the pages of TypeDoc. The sidebar has links inside of <summary>. Keyboards cannot tell such a link from
// the button, so that each becomes the first line of its list.

new MutationObserver(() => {
  for (const link of document.querySelectorAll('.tsd-navigation summary a')) {
    const summary = /** @type {HTMLElement} */ (link.closest('summary'));
    const list = summary.parentElement?.querySelector('ul');
    if (!list) continue;
    summary.append(link.textContent ?? '');
    const line = document.createElement('li');
    line.append(link);
    list.prepend(line);
  }
}).observe(document.documentElement, { childList: true, subtree: true });
