// After the first visit the playground works without a network. Pages come from the network first, so that they are never stale.
const CACHE = `whygrad-${VERSION}`;

self.addEventListener("install", (event) =>
  event.waitUntil(
    (async () => {
      const cache = await caches.open(CACHE);
      await cache.addAll(FILES);
      await self.skipWaiting();
    })(),
  ),
);

self.addEventListener("activate", (event) =>
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) if (name.startsWith("whygrad-") && name !== CACHE) await caches.delete(name);
      await self.clients.claim();
    })(),
  ),
);

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || new URL(event.request.url).origin !== location.origin) return;
  event.respondWith(answer(event.request));
});

async function answer(request) {
  const cache = await caches.open(CACHE);
  if (request.mode === "navigate") {
    try {
      const page = await fetch(request);
      if (page.ok) await cache.put(request.url.split(/[?#]/)[0], page.clone());
      return page;
    } catch {
      return (
        (await cache.match(request, { ignoreSearch: true })) ??
        (await cache.match(`${request.url.split(/[?#]/)[0]}index.html`)) ??
        Response.error()
      );
    }
  }
  return (await cache.match(request, { ignoreSearch: true })) ?? fetch(request);
}
