// @ts-check
/** The scenario as a link: what differs from the first one, under the contract's own keys. */

/** Fields whose values stay text, whatever they look like: "0.33" is a version. */
const TEXT = /(model|config|dtype)$|^(accelerator|quantization|engine.*)$/;
const FOREIGN = /^(utm_|fbclid$|gclid$)/;

/** @param {string} search @param {Flat} defaults @returns {{ flat: Flat, page: PageState }} */
export function readAddress(search, defaults) {
  const parameters = new URLSearchParams(search);
  const page = { embed: parameters.get("embed") === "1", panel: parameters.get("panel") ?? "" };
  const flat = { ...defaults };
  for (const [key, value] of parameters) {
    if (key === "embed" || key === "panel" || FOREIGN.test(key)) continue;
    if (value === "") delete flat[key];
    else flat[key] = TEXT.test(key) ? value : readValue(value);
  }
  return { flat, page };
}

/** @param {string} text @returns {Scalar} */
function readValue(text) {
  if (text === "true" || text === "false") return text === "true";
  const looksLikeNumber = /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text);
  return looksLikeNumber && Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER ? Number(text) : text;
}

/** @param {Flat} flat @param {PageState} page @param {Flat} defaults */
export function writeAddress(flat, page, defaults) {
  const parameters = new URLSearchParams();
  for (const key of new Set([...Object.keys(defaults), ...Object.keys(flat)])) {
    const value = flat[key];
    if (value === defaults[key]) continue;
    parameters.set(key, value === undefined ? "" : String(value));
  }
  if (page.panel) parameters.set("panel", page.panel);
  if (page.embed) parameters.set("embed", "1");
  const text = parameters.toString();
  return text ? `?${text}` : "";
}
