// After the first visit the whole site works without a network. The playground comes from what is kept, all of one build, so that
// its parts fit each other and start at once; a newer build is fetched meanwhile, for the next visit. Pages come from the network
// first, so that they are never stale.
const CACHE = `whygrad-${VERSION}`;
const PLAYGROUND = new URL("play/", location.href).href;

self.addEventListener("install", (event) =>
  event.waitUntil(
    (async () => {
      const cache = await caches.open(CACHE);
      // "no-cache" asks the server whether what the browser has is still the file of this build.
      await cache.addAll(FILES.map((name) => new Request(name, { cache: "no-cache" })));
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
  const address = request.url.split(/[?#]/)[0];
  const kept = await (await caches.open(CACHE)).match(address.endsWith("/") ? `${address}index.html` : address);
  if (kept && address.startsWith(PLAYGROUND)) return kept;
  try {
    return await fetch(request);
  } catch {
    return kept ?? Response.error();
  }
}
