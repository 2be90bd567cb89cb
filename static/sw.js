// @ts-check
/**
 * The page without a network. Files with a hash in their name never change: cache first. The page
 * itself comes from the network when there is one, else from this version's cache.
 */

const VERSION = "development";
/** @type {string[]} */
const FILES = [];

const PAGE = "./";
const PREFIX = "napkin-";
const SLOW_MILLISECONDS = 4_000;
const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));

/** Fill this version's cache whole, or fail and be tried again at the next visit. */
async function install() {
  const cache = await caches.open(PREFIX + VERSION);
  const page = await fetch(PAGE, { cache: "reload" });
  const text = await page.clone().text();
  if (!page.ok || !text.includes(VERSION)) throw new Error("the page is of another version");
  await cache.addAll(FILES);
  await cache.put(PAGE, page);
  await worker.skipWaiting();
}

/** Keep this version and the one before it, which a page opened earlier may still be using. */
async function activate() {
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX));
  const older = names.filter((name) => name !== PREFIX + VERSION);
  await Promise.all(older.slice(0, -1).map((name) => caches.delete(name)));
  await worker.clients.claim();
}

/** @param {Request} request @returns {Promise<Response>} */
async function answerPage(request) {
  const kept = await caches.open(PREFIX + VERSION).then((cache) => cache.match(PAGE));
  if (!kept) return fetch(request);
  try {
    return await fetch(request, { signal: AbortSignal.timeout(SLOW_MILLISECONDS) });
  } catch {
    return kept;
  }
}

/**
 * Compiled WebAssembly is kept beside the browser's own copy of the file and not beside ours, so
 * that copy is asked for first: it halves the start of the second visit.
 * @param {Request} request @returns {Promise<Response | undefined>}
 */
async function answerCompiled({ url }) {
  try {
    const found = await fetch(url, { cache: "force-cache" });
    return found.ok ? found : undefined;
  } catch {
    return undefined;
  }
}

/** @param {Request} request @returns {Promise<Response>} */
async function answerFile(request) {
  const compiled = request.url.endsWith(".wasm") && (await answerCompiled(request));
  return compiled || ((await caches.match(request)) ?? fetch(request));
}

worker.addEventListener("install", (event) => event.waitUntil(install()));
worker.addEventListener("activate", (event) => event.waitUntil(activate()));
worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== worker.location.origin) return;
  const home = new URL(PAGE, worker.registration.scope).pathname;
  const isPage = url.pathname === home || url.pathname === `${home}index.html`;
  event.respondWith(isPage ? answerPage(request) : answerFile(request));
});
