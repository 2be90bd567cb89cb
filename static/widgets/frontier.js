// @ts-check
/** Context against concurrency: what fits, where you are (to be dragged), where the engine refuses. */

import { each, find, on, set, setText, show } from "../dom.js";
import { concurrency, count, shortTokens } from "../format.js";
import { workloadTokens } from "../strings.js";

/** @import { Frontier, Gesture, Result, Widget } from "../view.d.ts" */

const BOX = { width: 460, left: 46, right: 450, top: 14, bottom: 236 };
const LEAST_TOKENS = 256;
const MOST_TICKS = 8;
/** What a key makes of the length. @type {Record<string, number>} */
const KEYS = {
  ArrowRight: 17 / 16,
  ArrowUp: 17 / 16,
  ArrowLeft: 15 / 16,
  ArrowDown: 15 / 16,
  PageUp: 2,
  PageDown: 0.5,
  Home: 0,
  End: Number.POSITIVE_INFINITY,
};

/** @type {Widget} */
export const createFrontier = (root, change) => {
  const [chart, point] = [find(root, ".chart"), find(root, ".point")];
  const part = (/** @type {string} */ name) => find(chart, `.${name}`);
  let x = logarithmic(1, 2, BOX.left, BOX.right);
  /** @type {Result | null} */
  let latest = null;

  /** @param {number} tokens @param {Gesture} gesture */
  function move(tokens, gesture) {
    const total = Math.min(x.high, Math.max(LEAST_TOKENS, tokens));
    if (latest) change(splitLike(latest, total), gesture);
  }

  /** @param {PointerEvent} event @param {Gesture} gesture */
  function drag({ clientX, pointerId }, gesture) {
    if (!chart.hasPointerCapture(pointerId)) return;
    const { left, width } = chart.getBoundingClientRect();
    move(rounded(x.at(((clientX - left) / width) * BOX.width)), gesture);
  }

  on(chart, "pointerdown", (event) => {
    chart.setPointerCapture(event.pointerId);
    drag(event, "live");
  });
  on(chart, "pointermove", (event) => drag(event, "live"));
  on(chart, "pointerup", (event) => drag(event, "commit"));
  on(point, "keydown", (event) => {
    const factor = KEYS[event.key];
    if (factor === undefined || !latest) return;
    event.preventDefault();
    move(rounded(workloadTokens(latest) * factor), "live");
  });
  on(point, "keyup", ({ key }) => {
    if (key in KEYS) change({}, "commit");
  });

  /** @param {Frontier} frontier @param {Result} result */
  function draw({ points, refused_beyond_tokens: wall }, result) {
    const held = points.map((each) => each.concurrency);
    const tokens = points.map((each) => each.context_tokens);
    const longest = Math.max(...tokens, Number(wall), Number(result.model_limit_tokens));
    const [asked, now] = [Number(result.chosen.concurrency), workloadTokens(result)];
    x = logarithmic(Math.min(...tokens, now), Math.max(longest, now), BOX.left, BOX.right);
    const y = logarithmic(Math.min(1, ...held), Math.max(2, ...held), BOX.bottom, BOX.top);
    const line = points.map((each) => `${x.to(each.context_tokens)} ${y.to(each.concurrency)}`);
    set(part("curve"), { d: `M${line.join("L")}` });
    set(part("area"), { d: `M${line.join("L")}V${BOX.bottom}H${x.to(Math.min(...tokens))}Z` });
    drawTicks(part("columns"), x, shortTokens, (at) => ({ x: Math.min(at, 446), y: 253 }));
    drawTicks(part("rows"), y, count, (at) => ({ x: 30, y: at + 4 }));
    show(part("wish"), asked >= y.low && asked <= y.high);
    set(part("wish"), { d: `M${BOX.left} ${y.to(asked)}H${BOX.right}` });
    const end = wall ?? longest;
    for (const name of ["wall", "wall-text"]) show(part(name), end < x.high);
    set(part("wall"), { d: `M${x.to(end)} ${BOX.bottom}V${BOX.top}` });
    label(part("wall-text"), `vLLM refuses beyond ${count(end)}`, x.to(end), 26, 6);
    const most = Number(result.max_concurrency_for_workload);
    const words = `${concurrency(most)} requests at ${count(now)}`;
    const [left, top] = [x.to(now), y.to(Math.min(most, y.high))];
    label(part("said"), words, left, Math.max(44, top - 10), 12);
    set(point, {
      transform: `translate(${left} ${top})`,
      "aria-valuemin": LEAST_TOKENS,
      "aria-valuemax": x.high,
      "aria-valuenow": now,
      "aria-valuetext": words,
    });
  }

  return {
    element: root,
    update({ result, frontier }) {
      latest = result;
      const isDrawn = Boolean(result && frontier && frontier.points.length > 1);
      show(chart, isDrawn);
      if (isDrawn && result && frontier) draw(frontier, result);
    },
  };
};

/** Write beside a place, on the side that has room. @param {Element} text @param {string} words @param {number} x @param {number} y @param {number} gap */
function label(text, words, x, y, gap) {
  const isRight = x > 270;
  set(text, { x: isRight ? x - gap : x + gap, y, "text-anchor": isRight ? "end" : "start" });
  setText(text, words);
}

/** A logarithmic axis between two places. @param {number} low @param {number} high @param {number} from @param {number} until */
function logarithmic(low, high, from, until) {
  const scale = (until - from) / (Math.log2(high / low) || 1);
  return {
    low,
    high,
    to: (/** @type {number} */ value) =>
      Math.round((from + Math.log2(Math.max(value, low) / low) * scale) * 10) / 10,
    at: (/** @type {number} */ place) => low * 2 ** ((place - from) / scale),
  };
}

/** @param {Element} group @param {ReturnType<typeof logarithmic>} axis @param {(tick: number) => string} write @param {(at: number) => { x: number, y: number }} locate */
function drawTicks(group, { low, high, to }, write, locate) {
  const step = 2 ** Math.ceil(Math.log2(high / low) / MOST_TICKS);
  const ticks = [];
  for (let tick = 2 ** Math.ceil(Math.log2(low)); tick <= high * 1.001; tick *= step)
    ticks.push(tick);
  each(group, ticks, (text, tick) => {
    set(text, { ...locate(to(tick)), "text-anchor": "middle" });
    setText(text, write(tick));
  });
}

/** A length that people would type: sixteen to thirty-two steps for each doubling. @param {number} tokens */
export function rounded(tokens) {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(tokens)) - 4);
  return Number.isFinite(step) ? Math.round(tokens / step) * step : tokens;
}

/** The same share of prompt and answer at another length. @param {Result} result @param {number} total */
export function splitLike({ chosen }, total) {
  const [input, output] = [Number(chosen.input_tokens), Number(chosen.output_tokens)];
  const prompt = Math.round((total * input) / (input + output));
  const input_tokens = Math.min(Math.max(prompt, Math.min(1, input)), total - Math.min(1, output));
  return { input_tokens, output_tokens: total - input_tokens };
}
