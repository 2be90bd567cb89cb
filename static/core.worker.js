// @ts-check
/** Hosts Pyodide: JSON text in, JSON text out. No request goes to another origin. */

/** @import { FromWorker, ToWorker } from "./core_messages.d.ts" */

const plainFetch = self.fetch.bind(self);

/** @type {Map<string, Promise<Response>>} */
const started = new Map();

/** @type {((text: string) => string) | undefined} */
let answer;

/** @param {FromWorker & { id?: number }} message */
function tell(message) {
  self.postMessage(message);
}

/** @param {unknown} error @returns {string} */
function describe(error) {
  return error instanceof Error ? error.message : `${JSON.stringify(error)}`;
}

/**
 * Count the bytes of a copy, so that the original stays a plain network response: only for such a
 * one does the browser keep the compiled code for the next visit.
 * @param {Response} response
 */
async function count(response) {
  if (!response.body) return;
  const reader = response.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    tell({ bytes: part.value.byteLength });
  }
}

/** @param {string} url @returns {Promise<Response>} */
async function fetchCounted(url) {
  const response = await plainFetch(url);
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  count(response.clone()).catch(() => {
    // The original fails with the same error, where it is reported.
  });
  return response;
}

/** @param {Response} response */
function unzipped(response) {
  return new Response(response.body?.pipeThrough(new DecompressionStream("gzip")) ?? null);
}

/** @param {unknown} error */
function giveUp(error) {
  tell({ failed: describe(error) });
}

/** Pyodide only warns when WebAssembly fails, and then never settles: hear of it here. */
function reportFailingWasm() {
  const streaming = WebAssembly.instantiateStreaming;
  WebAssembly.instantiateStreaming = async (source, imports) => {
    try {
      return await streaming(source, imports);
    } catch (error) {
      giveUp(error);
      throw error;
    }
  };
}

/** @param {Extract<ToWorker, { start: object }>["start"]} start */
async function startPython({ runtime, bundle, lock }) {
  reportFailingWasm();
  const scripts = Promise.all([
    import(`${runtime}pyodide.mjs`),
    import(`${runtime}pyodide.asm.mjs`),
  ]);
  const wasm = `${runtime}pyodide.asm.wasm`;
  started.set(wasm, fetchCounted(wasm));
  started.set(bundle, fetchCounted(bundle).then(unzipped));
  self.fetch = (input, init) => started.get(String(input)) ?? plainFetch(input, init);
  const [[{ loadPyodide }, { default: createPyodideModule }]] = await Promise.all([
    scripts,
    ...started.values(),
  ]);
  const python = await loadPyodide({
    indexURL: runtime,
    packageBaseUrl: runtime,
    stdLibURL: bundle,
    lockFileContents: lock,
    createPyodideModule,
  });
  self.fetch = plainFetch;
  started.clear();
  answer = python.pyimport("pycore.bridge").answer;
  // For the console of a curious reader, and for the test that counts Python's memory.
  Object.assign(self, { python });
  tell({ ready: true });
}

self.addEventListener("message", (/** @type {MessageEvent<ToWorker>} */ { data }) => {
  if ("start" in data) {
    startPython(data.start).catch(giveUp);
    return;
  }
  try {
    if (!answer) throw new Error("asked before the core was ready");
    tell({ id: data.id, text: answer(data.text) });
  } catch (error) {
    tell({ id: data.id, crashed: describe(error) });
  }
});
