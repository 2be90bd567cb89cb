// @ts-check
/** Context against concurrency: what fits, where you are, where the engine refuses. */

import { each, find, on, set, setText, show } from "../dom.js";
import { concurrency, count, shortTokens } from "../format.js";
import { workloadTokens } from "../strings.js";

const [WIDTH, LEFT, MIDDLE, RIGHT, TOP, BOTTOM] = [460, 46, 270, 450, 14, 236];
const LEAST_TOKENS = 256;
const MOST_TICKS = 8;
/** @type {Record<string, number>} */
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
  let x = logarithmic(1, 2, LEFT, RIGHT);
  /** @type {View | null} */
  let view = null;

  /** @param {number} tokens @param {Gesture} gesture */
  function ask(tokens, gesture) {
    const total = Math.min(x.high, Math.max(LEAST_TOKENS, tokens));
    if (view?.result) change(splitLike(view.result, total), gesture);
  }

  /** @param {PointerEvent} event @param {Gesture} gesture */
  function drag({ clientX, pointerId }, gesture) {
    if (!chart.hasPointerCapture(pointerId)) return;
    const { left, width } = chart.getBoundingClientRect();
    ask(rounded(x.at(((clientX - left) / width) * WIDTH)), gesture);
  }

  on(chart, "pointerdown", (event) => {
    chart.setPointerCapture(event.pointerId);
    drag(event, "live");
  });
  on(chart, "pointermove", (event) => drag(event, "live"));
  on(chart, "pointerup", (event) => drag(event, "commit"));
  on(point, "keydown", (event) => {
    const factor = KEYS[event.key];
    if (factor === undefined || !view?.result) return;
    event.preventDefault();
    // From what was asked last, which may not be answered yet.
    const { input_tokens, output_tokens } = { ...view.result.chosen, ...view.flat };
    ask(rounded((Number(input_tokens) + Number(output_tokens)) * factor), "live");
  });
  on(point, "keyup", ({ key }) => {
    if (key in KEYS) change({}, "commit");
  });

  /** @param {Frontier} frontier @param {Result} result */
  function draw({ points, refused_beyond_tokens: wall }, result) {
    const held = points.map((each) => each.concurrency);
    const tokens = points.map((each) => each.context_tokens);
    const [asked, now] = [Number(result.chosen.concurrency), workloadTokens(result)];
    const longest = Math.max(...tokens, now, Number(wall), Number(result.model_limit_tokens));
    const most = Number(result.max_concurrency_for_workload);
    const words = `${concurrency(most)} requests at ${count(now)}`;
    x = logarithmic(Math.min(...tokens, now), longest, LEFT, RIGHT);
    const y = logarithmic(Math.min(1, ...held), Math.max(2, ...held), BOTTOM, TOP);
    const line = points.map((each) => `${x.to(each.context_tokens)} ${y.to(each.concurrency)}`);
    set(part("curve"), { d: `M${line.join("L")}` });
    set(part("area"), { d: `M${line.join("L")}V${BOTTOM}H${x.to(Number(tokens[0]))}Z` });
    drawTicks(part("columns"), "x", x, shortTokens);
    drawTicks(part("rows"), "y", y, count);
    show(part("wish"), asked >= y.low && asked <= y.high);
    set(part("wish"), { d: `M${LEFT} ${y.to(asked)}H${RIGHT}` });
    const end = wall ?? longest;
    show(part("wall"), end < longest);
    move(part("wall"), x.to(end), 0, `vLLM refuses beyond ${count(end)}`);
    move(point, x.to(now), y.to(Math.min(most, y.high)), words);
    set(point, { "aria-valuemax": longest, "aria-valuenow": now, "aria-valuetext": words });
  }

  return {
    element: root,
    update(next) {
      view = next;
      const { result, frontier } = next;
      const isDrawn = Boolean(result && frontier && frontier.points.length > 1);
      show(root, isDrawn);
      if (isDrawn && result && frontier) draw(frontier, result);
    },
  };
};

/** The words stand on the side that has room. @type {(mark: Element, x: number, y: number, words: string) => void} */
const move = (mark, x, y, words) => {
  set(mark, { transform: `translate(${x} ${y})` });
  mark.classList.toggle("flip", x > MIDDLE);
  setText(find(mark, "text"), words);
};

/** @type {(low: number, high: number, from: number, until: number) => Axis} */
const logarithmic = (low, high, from, until) => {
  const scale = (until - from) / (Math.log2(high / low) || 1);
  return {
    low,
    high,
    to: (value) => Math.round((from + Math.log2(Math.max(value, low) / low) * scale) * 10) / 10,
    at: (place) => low * 2 ** ((place - from) / scale),
  };
};

/** @type {(group: Element, name: string, axis: Axis, write: (tick: number) => string) => void} */
const drawTicks = (group, name, { low, high, to }, write) => {
  const step = 2 ** Math.ceil(Math.log2(high / low) / MOST_TICKS);
  const first = 2 ** Math.ceil(Math.log2(low));
  const length = Math.floor(Math.log2(high / first) / Math.log2(step)) + 1;
  const ticks = Array.from({ length }, (_, index) => first * step ** index);
  each(group, ticks, (text, tick) => {
    set(text, { [name]: to(tick) });
    setText(text, write(tick));
  });
};

/** A length that people would type: sixteen to thirty-two steps for each doubling. @param {number} tokens */
export function rounded(tokens) {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(tokens)) - 4);
  return Number.isFinite(step) ? Math.round(tokens / step) * step : tokens;
}

/** @param {Result} result @param {number} total */
export function splitLike({ chosen }, total) {
  const [input, output] = [Number(chosen.input_tokens), Number(chosen.output_tokens)];
  const prompt = Math.round((total * input) / (input + output));
  const input_tokens = Math.min(Math.max(prompt, Math.min(1, input)), total - Math.min(1, output));
  return { input_tokens, output_tokens: total - input_tokens };
}
