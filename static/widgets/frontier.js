// @ts-check
/** Context against concurrency: what fits, where you are, where the engine refuses. */

import { each, find, on, set, setText, show } from "../dom.js";
import { concurrency, count, shortTokens } from "../format.js";
import { workloadTokens } from "../strings.js";

const [WIDTH, LEFT, RIGHT, TOP, BOTTOM] = [460, 46, 440, 14, 236];
const LETTER_WIDTH = 7;
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
  /** @type {View} */
  let view;

  /** @param {number} tokens @param {Gesture} gesture */
  function ask(tokens, gesture) {
    const total = Math.min(x.high, Math.max(LEAST_TOKENS, tokens));
    change(splitLike(view.result, total), gesture);
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
    if (factor === undefined) return;
    event.preventDefault();
    // From what was asked last, which may not be answered yet.
    const { input_tokens, output_tokens } = { ...view.result.chosen, ...view.flat };
    ask(rounded((Number(input_tokens) + Number(output_tokens)) * factor), "live");
  });
  on(point, "keyup", ({ key }) => {
    if (key in KEYS) change({}, "commit");
  });

  return (next) => {
    view = next;
    const { points, refused_beyond_tokens: wall } = view.frontier;
    /** @type {any} */
    const result = view.result;
    show(root, points.length > 1);
    if (points.length < 2) return;
    const held = points.map((each) => each.concurrency);
    const tokens = points.map((each) => each.context_tokens);
    const [asked, now] = [result.chosen.concurrency_per_replica, workloadTokens(result)];
    const longest = Math.max(...tokens, now, Number(wall), result.model_limit_tokens);
    const most = result.max_concurrency_for_workload;
    x = logarithmic(Math.min(...tokens, now), longest, LEFT, RIGHT);
    const y = logarithmic(Math.min(1, ...held), Math.max(2, ...held), BOTTOM, TOP);
    const line = points.map((each) => `${x.to(each.context_tokens)} ${y.to(each.concurrency)}`);
    set(part("curve"), { d: `M${line.join("L")}` });
    set(part("area"), { d: `M${line.join("L")}V${BOTTOM}H${x.to(Number(tokens[0]))}Z` });
    drawTicks(part("columns"), "x", x, shortTokens);
    drawTicks(part("rows"), "y", y, count);
    show(part("wish"), asked >= y.low && asked <= y.high);
    const wish = y.to(asked);
    // The curve falls: what is above its end, or below all of it, is free.
    const isAbove = asked >= Math.min(...held);
    move(part("wish"), 0, wish, `${count(asked)} asked for`, { y: isAbove ? -5 : 14 });
    const end = wall ?? longest;
    show(part("wall"), end < longest);
    const [refusal, atWall] = [`vLLM refuses beyond ${count(end)}`, x.to(end)];
    const isLeft = atWall + refusal.length * LETTER_WIDTH > RIGHT;
    move(part("wall"), atWall, 0, refusal, { "text-anchor": isLeft ? "end" : "start" });
    const words = `${concurrency(most)} requests at ${count(now)}`;
    const [px, py] = [x.to(now), y.to(Math.min(most, y.high))];
    // Free: right of the falling curve, up to the wall; and below it, to the left.
    const isRoomy = px + words.length * LETTER_WIDTH < atWall;
    const below = { x: -12, y: Math.min(25, BOTTOM - 5 - py), "text-anchor": "end" };
    move(point, px, py, words, isRoomy ? { x: 12, y: -12, "text-anchor": "start" } : below);
    set(point, { "aria-valuemax": longest, "aria-valuenow": now, "aria-valuetext": words });
  };
};

/** @type {(mark: Element, x: number, y: number, words: string, place: Record<string, number | string>) => void} */
const move = (mark, x, y, words, place) => {
  const text = find(mark, "text");
  set(mark, { transform: `translate(${x} ${y})` });
  set(text, place);
  setText(text, words);
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
