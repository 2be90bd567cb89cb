// @ts-check
/** The scenario: one flat record, changed in one place, told to its listener once a turn. */

const MEASURED = "measured.";
const OF_THE_CONFIG = ["config", "hf_quant_config", "checkpoint_bytes"];

/** @param {Changes} request @returns {Flat} */
export function flatten({ measured, ...request }) {
  const spread = Object.entries(measured ?? {}).map(([name, bytes]) => [MEASURED + name, bytes]);
  const entries = [...Object.entries(request), ...spread].filter(([, value]) => value != null);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === "object" ? JSON.stringify(value) : value]),
  );
}

/**
 * A config goes before the catalogue's model, a memory size before its accelerator.
 * @param {Flat} flat
 * @returns {Changes}
 */
export function nest(flat) {
  /** @type {Changes} */
  const request = {};
  /** @type {Record<string, Scalar>} */
  const measured = {};
  for (const [key, value] of Object.entries(flat)) {
    if (key.startsWith(MEASURED)) measured[key.slice(MEASURED.length)] = value;
    else request[key] = value;
  }
  if ("config" in flat) delete request.model;
  if ("accelerator_total_bytes" in flat) delete request.accelerator;
  return Object.keys(measured).length ? { ...request, measured } : request;
}

/** Apply changes; null takes a field back to what the engine would choose. @param {Flat} flat @param {Changes} changes @param {Ties} ties @returns {Flat} */
export function apply(flat, changes, { ofTheModel, voids }) {
  const isOtherModel = "model" in changes || "config" in changes;
  const gone = new Set(Object.keys(changes));
  for (const key of isOtherModel ? [...ofTheModel, ...OF_THE_CONFIG] : []) gone.add(key);
  if (changes.accelerator) gone.add("accelerator_total_bytes");
  // A measured term goes with what it was measured under.
  for (const key in changes)
    for (const term of voids[ofTheModel.includes(key) ? "config" : key] ?? [])
      gone.add(MEASURED + term);
  if (changes.measured) for (const key in flat) if (key.startsWith(MEASURED)) gone.add(key);
  const kept = Object.entries(flat).filter(([key]) => !gone.has(key));
  return { ...Object.fromEntries(kept), ...flatten(changes) };
}

/** @param {Flat} one @param {Flat} other */
export function isSame(one, other) {
  const keys = [...Object.keys(one), ...Object.keys(other)];
  return keys.every((key) => one[key] === other[key]);
}

/** @param {Flat} flat @param {Ties} ties @param {(flat: Flat, gesture: Gesture) => void} listener */
export function createStore(flat, ties, listener) {
  let current = flat;
  /** @type {Gesture | null} */
  let pending = null;

  /** @param {Flat} next @param {Gesture} gesture */
  function put(next, gesture) {
    current = next;
    if (pending === null) {
      queueMicrotask(() => {
        const last = pending ?? gesture;
        pending = null;
        listener(current, last);
      });
    }
    if (pending !== "commit") pending = gesture;
  }

  return {
    put,
    /** @param {Changes} changes @param {Gesture} gesture */
    change: (changes, gesture) => put(apply(current, changes, ties), gesture),
  };
}
