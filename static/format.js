// @ts-check
/** Numbers for people, and back. The only place where units are converted. */

const KIB = 1024;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

const WHOLE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const TWO = new Intl.NumberFormat("en-GB", {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  signDisplay: "negative", // no -0.00
});
const SHORT = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });

/** @param {number} value */
export const count = (value) => WHOLE.format(value);

/** 1 GPU, 2 GPUs. @param {number} value @param {string} noun */
export const plural = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** @param {number} value */
export const gib = (value) => TWO.format(value / GIB);

/** Of a token or a block. @param {number} value */
export function bytes(value) {
  const [size, unit] = value >= GIB ? [GIB, "GiB"] : value >= MIB ? [MIB, "MiB"] : [KIB, "KiB"];
  return `${(Number.isInteger(value / size) ? WHOLE : TWO).format(value / size)} ${unit}`;
}

/** @param {number} value */
export const megabytes = (value) => (value / 1e6).toFixed(1);

/** Requests at once: one decimal, never more than there are. @param {number} value */
export const concurrency = (value) =>
  value < 100 ? (Math.floor(value * 10) / 10).toFixed(1) : count(Math.floor(value));

/** A figure without its unit, which stands in its name. @param {number | null} value @param {string} unit */
export function amount(value, unit) {
  if (value === null) return "–";
  if (unit === "share") return percent(value);
  return unit === "bytes" ? gib(value) : SHORT.format(value);
}

/** @type {Record<string, string>} */
const UNITS = { bytes: ", GiB", per_second: " per second", percent: ", %" };

/** @param {string} name @param {string} unit */
export const named = (name, unit) => name + (UNITS[unit] ?? "");

/** @param {number} share */
export const percent = (share) => `${Number((share * 100).toFixed(1))} %`;

/** @param {number} ratio */
export const times = (ratio) =>
  `×${ratio < 10 ? ratio.toFixed(ratio < 1.1 ? 2 : 1) : count(ratio)}`;

/** 70.6B, 494M. @param {number} value */
export function parameters(value) {
  const [size, letter] = value >= 1e12 ? [1e12, "T"] : value >= 1e9 ? [1e9, "B"] : [1e6, "M"];
  return Number((value / size).toPrecision(3)) + letter;
}

/** 512, 8k, 128k. @param {number} tokens */
export const shortTokens = (tokens) =>
  tokens >= KIB ? `${Number((tokens / KIB).toPrecision(3))}k` : String(tokens);

/** bf16, fp16, and what checkpoints' own forms are known as. @param {string} dtype */
export const shortDtype = (dtype) =>
  ({ modelopt_fp4: "NVFP4", gpt_oss_mxfp4: "MXFP4" })[dtype] ??
  dtype.replace(/^(b?)float(?=\d)/, (_, b) => (b ? "bf" : "fp"));

/**
 * Read a count as typed: "32,768", "32 768" and "32k" are the same. What is no number stays as
 * typed, for the core to answer.
 * @param {string} typed
 */
export function readCount(typed) {
  const found = /^(-?\d+(?:\.\d+)?)([km]?)$/i.exec(typed.replace(/[,_\s]/g, ""));
  const suffix = found?.[2]?.toLowerCase();
  const value = Number(found?.[1]) * (suffix === "k" ? KIB : suffix === "m" ? MIB : 1);
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? value : typed;
}

/** @param {string} typed */
export const readNumber = (typed) => (/^-?\d*\.?\d+$/.test(typed) ? Number(typed) : typed);

/** @param {string} typed */
export function readGib(typed) {
  const value = readNumber(typed.replace(/\s*gib$|,/gi, ""));
  return typeof value === "number" ? Math.round(value * GIB) : typed;
}

/** Bytes as the shortest GiB that reads back as the same bytes. @param {number} value */
export function writeGib(value) {
  const lengths = Array.from({ length: 12 }, (_, decimals) => (value / GIB).toFixed(decimals));
  return lengths.find((text) => readGib(text) === value) ?? String(value / GIB);
}
