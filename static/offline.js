// @ts-check

/** Wait for the core: what is kept has then been loaded, and comes from the browser's own cache. */
function coreIsReady(root = document.documentElement) {
  return new Promise((resolve) => {
    const look = () => root.dataset.core === "ready" && resolve(observer.disconnect());
    const observer = new MutationObserver(look);
    observer.observe(root, { attributeFilter: ["data-core"] });
    look();
  });
}

/** Register the service worker; a browser that refuses (a private window, say) loses nothing else. */
export async function keepForOffline() {
  if (!("serviceWorker" in navigator)) return;
  await coreIsReady();
  try {
    await navigator.serviceWorker.register(new URL("sw.js", document.baseURI));
  } catch (error) {
    console.info("Not kept for use offline:", error);
  }
}
