// Makes a page cross-origin isolated on a host that sets no headers, so that its models may use threads:
//
//   <script src="isolate.js"></script>
//
// Copy this file beside the page, because a service worker must have the page's own origin.
//
// In the page, the script installs itself as a service worker and reloads the page. As a service worker, it adds the
// headers to every response. Resources from other origins then need CORS or Cross-Origin-Resource-Policy.

(() => {
  const HEADERS = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

  /**
   * The part of a service worker's global object that is used here. TypeScript knows it only without the DOM.
   * @typedef {object} ServiceWorker
   * @property {(type: string, listener: (e: ServiceWorkerEvent) => void) => void} addEventListener
   * @property {() => Promise<void>} skipWaiting
   * @property {{ claim: () => Promise<void> }} clients
   *
   * @typedef {object} ServiceWorkerEvent an ExtendableEvent or a FetchEvent
   * @property {(done: Promise<unknown>) => void} waitUntil
   * @property {Request} request
   * @property {(response: Promise<Response>) => void} respondWith
   */

  if (typeof document === 'undefined') {
    const worker = /** @type {ServiceWorker} */ (globalThis);
    worker.addEventListener('install', () => worker.skipWaiting());
    worker.addEventListener('activate', (e) => e.waitUntil(worker.clients.claim()));
    worker.addEventListener('fetch', (e) => {
      const { request } = e;
      // The developer tools make such requests, which fetch() refuses.
      if (request.cache === 'only-if-cached' && request.mode !== 'same-origin') return;
      e.respondWith(
        (async () => {
          const response = await fetch(request);
          if (response.status === 0) return response; // the response is opaque, so no header can be added
          const headers = new Headers(response.headers);
          for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
          const empty = [204, 205, 304].includes(response.status);
          return new Response(empty ? null : response.body, {
            status: response.status,
            statusText: response.statusText,
            headers,
          });
        })(),
      );
    });
    return;
  }

  const { crossOriginIsolated, isSecureContext, sessionStorage, location, navigator } = globalThis;
  const { src } = /** @type {HTMLScriptElement} */ (document.currentScript),
    key = `isolate ${location.pathname}`;
  if (crossOriginIsolated || !isSecureContext || !navigator.serviceWorker) return;
  if (sessionStorage.getItem(key)) {
    // the page was reloaded once; a second reload would not help
    sessionStorage.removeItem(key);
    return;
  }
  void navigator.serviceWorker.register(src).then(async () => {
    await navigator.serviceWorker.ready;
    sessionStorage.setItem(key, '1');
    location.reload();
  });
})();
