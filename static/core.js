// @ts-check
/**
 * The client of the worker that holds the core.
 * Sizing goes first, since the eye waits for it; every caller gets an answer, whatever happens.
 */

/** @import { Call, FromWorker, Options, Request, State } from "./core_messages.d.ts" */

const TIMEOUTS = {
  stallMilliseconds: 15_000,
  startMilliseconds: 45_000,
  answerMilliseconds: 60_000,
  restMilliseconds: 40,
  restartMilliseconds: 5_000,
};

const FIRST = "size";

/** @param {string} message */
function crashed(message) {
  return { ok: false, failure: { field: "", reason: "core_crashed", message } };
}

/** @param {Options} options */
export function createCore({
  onState = () => {},
  onProgress = () => {},
  timeouts = {},
  assets = JSON.parse(document.getElementById("assets")?.textContent ?? "{}"),
} = {}) {
  const limits = { ...TIMEOUTS, ...timeouts };
  /** @type {Map<string, Call>} */
  const waiting = new Map();
  /** @type {Call | null} */
  let current = null;
  /** @type {Worker | null} */
  let worker = null;
  /** @type {State | "new"} */
  let state = "new";
  let sequence = 0;
  let loadedBytes = 0;
  let startedAt = Number.NEGATIVE_INFINITY;
  let movedAt = Number.NEGATIVE_INFINITY;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let watchdog;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let resting;

  /** @param {State} next @param {string} [detail] */
  function enter(next, detail = "") {
    state = next;
    document.documentElement.dataset.core = next;
    onState(next, detail);
  }

  /** @param {number} milliseconds @param {() => void} bark */
  function watch(milliseconds, bark) {
    clearTimeout(watchdog);
    watchdog = setTimeout(bark, milliseconds);
  }

  function watchTheLoad() {
    const complete = loadedBytes >= assets.total_bytes;
    watch(complete ? limits.startMilliseconds : limits.stallMilliseconds, () => {
      enter("stalled", complete ? "starting" : "loading");
    });
  }

  function start() {
    if (worker) return;
    loadedBytes = 0;
    startedAt = performance.now();
    const made = new Worker(new URL(assets.worker, document.baseURI), {
      type: "module",
      name: "core",
    });
    worker = made;
    made.addEventListener("message", ({ data }) => worker === made && hear(data));
    made.addEventListener("error", (event) => {
      event.preventDefault();
      if (worker === made) recover(event.message || "the worker could not be loaded");
    });
    const base = document.baseURI;
    made.postMessage({
      start: {
        runtime: new URL(assets.runtime, base).href,
        bundle: new URL(assets.bundle, base).href,
        lock: assets.lock,
      },
    });
    enter("starting");
    watchTheLoad();
  }

  /** @param {FromWorker} message */
  function hear(message) {
    if (message.bytes) progress(message.bytes);
    else if (message.ready) becomeReady();
    else if (message.failed) fail(message.failed);
    else if (message.crashed) recover(message.crashed);
    else receive(message.text ?? "");
  }

  /** @param {number} bytes */
  function progress(bytes) {
    loadedBytes += bytes;
    if (state === "stalled") enter("starting");
    onProgress({ loadedBytes, totalBytes: assets.total_bytes });
    watchTheLoad();
  }

  function becomeReady() {
    clearTimeout(watchdog);
    enter("ready");
    sendNext();
  }

  /** @param {string} text */
  function receive(text) {
    clearTimeout(watchdog);
    const call = current;
    const superseded = call && waiting.has(call.channel);
    current = null;
    sendNext();
    call?.settle(superseded ? null : JSON.parse(text));
  }

  function sendNext() {
    if (state !== "ready" || current || waiting.size === 0) return;
    clearTimeout(resting);
    const rest = movedAt + limits.restMilliseconds - performance.now();
    if (!waiting.has(FIRST) && rest > 0) {
      resting = setTimeout(sendNext, rest);
      return;
    }
    const channel = waiting.has(FIRST) ? FIRST : [...waiting.keys()][0];
    current = waiting.get(channel ?? "") ?? null;
    if (!current || !worker) return;
    waiting.delete(current.channel);
    sequence += 1;
    worker.postMessage({ id: sequence, text: current.text });
    watch(limits.answerMilliseconds, () => recover("no answer came"));
  }

  function stop() {
    clearTimeout(watchdog);
    worker?.terminate();
    worker = null;
  }

  /** @param {string} message */
  function fail(message) {
    stop();
    const calls = [...(current ? [current] : []), ...waiting.values()];
    current = null;
    waiting.clear();
    for (const call of calls) call.settle(crashed(message));
    enter("failed", message);
  }

  /** The worker died at work: settle what it had, start another, ask it the rest. @param {string} message */
  function recover(message) {
    const tooSoon = performance.now() - startedAt < limits.restartMilliseconds;
    if (state !== "ready" || tooSoon) {
      fail(message);
      return;
    }
    stop();
    const lost = current;
    current = null;
    lost?.settle(waiting.has(lost.channel) ? null : crashed(message));
    start();
  }

  return {
    /**
     * @param {Request} request
     * @returns {Promise<any>}
     */
    ask(request) {
      if (state === "failed") return Promise.resolve(crashed("the core is not running"));
      return new Promise((settle) => {
        const channel = request.ask ?? FIRST;
        if (channel === FIRST) movedAt = performance.now();
        waiting.get(channel)?.settle(null);
        waiting.delete(channel);
        waiting.set(channel, { text: JSON.stringify(request), channel, settle });
        sendNext();
      });
    },
    start,
    /** Start again after a failure, or where the load has stalled; what waits goes on waiting. */
    retry() {
      stop();
      if (current && !waiting.has(current.channel)) waiting.set(current.channel, current);
      else current?.settle(null);
      current = null;
      start();
    },
  };
}
