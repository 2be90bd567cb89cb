// @ts-check
/**
 * A model's config.json from the Hugging Face hub, unparsed, since published configs hold NaN.
 * Source: huggingface_hub utils/_http.py, hf_raise_for_status.
 */

/** The hub's dtypes end or begin with their bits. Source: safetensors, Dtype. @param {string} dtype */
const elementBytes = (dtype) => Number(/^(?:BF|F|I|U)(8|16|32|64)(?:_|$)/.exec(dtype)?.[1]) / 8;

const PATIENCE_MILLISECONDS = 20_000;

/** Why a model could not be fetched: one of index.html's phrases. */
export class HubError extends Error {
  /** @param {string} kind @param {number} [seconds] how long the hub asks to wait */
  constructor(kind, seconds = 0) {
    super(kind);
    this.kind = kind;
    this.seconds = seconds;
  }
}

/** @param {string} text */
export const isHubId = (text) => /^[\w.-]+\/[\w.-]+$/.test(text);

/** @param {string} id @param {string} base @param {AbortSignal} [signal] */
export async function fetchModel(id, base, signal = AbortSignal.timeout(PATIENCE_MILLISECONDS)) {
  const get = (/** @type {string} */ path) => fetchText(`${base}/${path}`, signal);
  const files = `${id}/resolve/main`;
  const config = await get(`${files}/config.json`);
  if (!config.trimStart().startsWith("{")) throw new HubError("not_json");
  const [hf_quant_config, index, about] = await Promise.all([
    optional(get(`${files}/hf_quant_config.json`)),
    optional(get(`${files}/model.safetensors.index.json`)),
    optional(get(`api/models/${id}`)),
  ]);
  const checkpoint_bytes = sizeOf(parse(index), parse(about));
  return {
    config,
    ...(hf_quant_config && { hf_quant_config }),
    ...(checkpoint_bytes && { checkpoint_bytes }),
  };
}

/** The bytes of all tensors: the index says, else the hub's own count by dtype. @param {any} index @param {any} about */
function sizeOf(index, about) {
  let bytes = 0;
  for (const [dtype, elements] of Object.entries(about.safetensors?.parameters ?? {})) {
    bytes += elementBytes(dtype) * Number(elements);
  }
  return [index.metadata?.total_size, bytes].find(Number.isSafeInteger) ?? 0;
}

/** @param {string} text @returns {any} */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** @param {Promise<string>} wanted */
function optional(wanted) {
  return wanted.catch((error) => {
    if (error.kind === "rate_limited") throw error;
    return "";
  });
}

/** @param {string} url @param {AbortSignal} signal */
async function fetchText(url, signal) {
  try {
    const answer = await fetch(url, { signal });
    if (!answer.ok) throw refusal(answer);
    return await answer.text();
  } catch (error) {
    if (error instanceof HubError) throw error;
    if (signal.aborted) throw new HubError("slow");
    throw new HubError(globalThis.navigator?.onLine === false ? "offline" : "unreachable");
  }
}

/** @param {Response} answer */
function refusal({ status, headers }) {
  const code = headers.get("x-error-code");
  if (status === 429)
    return new HubError("rate_limited", waitSeconds(headers.get("retry-after") ?? ""));
  if (code === "EntryNotFound") return new HubError("no_config");
  if (code === "RepoNotFound" || status === 404) return new HubError("missing");
  return new HubError(status === 401 || status === 403 ? "gated" : "server");
}

/** Retry-After holds seconds or a date. @param {string} after */
function waitSeconds(after) {
  const seconds = /^\d+$/.test(after) ? Number(after) : (Date.parse(after) - Date.now()) / 1000;
  return Math.max(0, Math.ceil(seconds)) || 0;
}
