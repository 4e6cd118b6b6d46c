// build.mjs puts VERSION and FILES before this code. All files are stored before the page needs them, because the
// scripts of workers and threads are downloaded late.
self.addEventListener('install', (event) => {
  event.waitUntil(
    caches
      .open(`app-${VERSION}`)
      .then((cache) => cache.addAll(['./', ...FILES]))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener('activate', (event) => {
  const isOld = (name) => name.startsWith('app-') && name !== `app-${VERSION}`;
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener('fetch', (event) => {
  event.respondWith(caches.match(event.request).then((stored) => stored ?? fetch(event.request)));
});
