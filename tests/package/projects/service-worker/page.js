await navigator.serviceWorker.register('./sw.js', { type: 'module' });
const { active } = await navigator.serviceWorker.ready;

/** What the service worker answers. @param {object} question */
globalThis.ask = (question) =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = (event) => resolve(event.data);
    active.postMessage(question, [port2]);
  });
