// @ts-check

/** Register the service worker; a browser that refuses (a private window, say) loses nothing else. */
export async function keepForOffline() {
  try {
    await navigator.serviceWorker?.register(new URL("sw.js", document.baseURI));
  } catch (error) {
    console.info("Not kept for use offline:", error);
  }
}
