// @ts-check
/** Memory of each GPU: bars, and the table that they are drawn from. */

import { all, each, find, set, setFigure, setText, show } from "../dom.js";
import { gib, plural } from "../format.js";

/** @typedef {keyof Omit<Stage, "stage" | "num_ranks">} Part */

/** @type {Part[]} */
const STACK = [
  "weights_bytes",
  "cuda_graph_bytes",
  "activation_bytes",
  "non_torch_bytes",
  "kv_cache_in_use_bytes",
  "kv_cache_free_bytes",
];
/** GPUs are drawn one by one up to so many, then as one bar for all that are alike. */
const DRAWN_SINGLY = 4;
const TICKS = 5;
/** @type {Partial<Record<Part, string>>} */
const LABELS = { weights_bytes: "weights", kv_cache_in_use_bytes: "KV" };

/** @type {Widget} */
export const createBars = (root) => {
  const [bars, scale, holder, body] = all(root, "[data-each=gpu], .scale g, [role=group], tbody");
  return ({ result }) => {
    const stages = result.memory_by_stage;
    show(root, stages.length > 0);
    if (stages.length === 0) return;
    const isOne = stages.length === 1;
    const widest = Math.max(...stages.map((stage) => Math.max(stage.total_bytes, below(stage, 6))));
    const gpus = stages.flatMap((stage) => Array(stage.num_ranks).fill(stage));
    const isSingly = gpus.length <= DRAWN_SINGLY;
    each(bars, isSingly ? gpus : stages, (bar, stage, index) => {
      setText(bar.children[0], isSingly ? `GPU ${index}` : titleOf(stage, stages));
      drawBar(bar.children[1], stage, widest, result.bounds.available_kv_cache_bytes ?? [0, 0]);
    });
    drawScale(scale, widest);
    for (const entry of all(root, "[data-part]")) {
      const { part, line = part } = entry.dataset;
      show(
        entry,
        stages.some((stage) => stage[/** @type {Part} */ (part)] > 0),
      );
      for (const range of all(entry, "[data-range]")) range.classList.toggle("unseen", !isOne);
      if (isOne) continue;
      const sizes = stages.map((stage) => stage[/** @type {Part} */ (line)]);
      const [low, high] = [gib(Math.min(...sizes)), gib(Math.max(...sizes))];
      setText(find(entry, "data"), low === high ? low : `${low} to ${high}`);
    }
    const { weights_bytes_per_rank: created, loaded_weights_bytes_per_rank: loaded } = result;
    show(find(root, "#created"), isOne && gib(Number(created)) !== gib(Number(loaded)));
    set(holder, { class: isOne ? "unseen" : "scroll", tabindex: isOne ? null : 0 });
    each(body, stages, (row, stage) => {
      setText(row.firstChild, titleOf(stage, stages));
      for (const cell of all(row, "[data-of]")) {
        const part = /** @type {Part} */ (cell.dataset.of);
        setFigure(cell, `memory_by_stage.${stage.stage}.${part}`, stage[part], gib(stage[part]));
      }
    });
  };
};

/** Bytes of the parts below one. @param {Stage} stage @param {number} index */
const below = (stage, index) => STACK.slice(0, index).reduce((sum, part) => sum + stage[part], 0);

/** @param {Stage} stage @param {Stage[]} stages */
function titleOf({ stage, num_ranks }, { length }) {
  return length > 1 ? `stage ${stage}, ×${num_ranks}` : plural(num_ranks, "GPU");
}

/** @type {(bar: Element, stage: Stage, widest: number, pool: [number, number]) => void} */
const drawBar = (bar, stage, widest, [low, high]) => {
  const at = (/** @type {number} */ bytes) => `${Math.round((bytes / widest) * 1e5) / 1e3}%`;
  const { budget_bytes: budget, total_bytes: total } = stage;
  /** @type {(name: string, start: number, end: number) => void} */
  const span = (name, start, end) => {
    const part = find(bar, `.${name}`);
    show(part, end > start);
    set(part, { x: at(start), width: at(Math.max(0, end - start)) });
  };
  for (const [index, part] of STACK.entries()) {
    const [start, end] = [below(stage, index), below(stage, index + 1)];
    span(part, start, end);
    const words = LABELS[part];
    if (!words) continue;
    // What is beyond the budget is hatched: the label stands before that.
    span(words, start, Math.min(end, budget));
    setText(find(bar, `.${words} p`), `${words} ${gib(stage[part])}`);
  }
  span("over", budget, budget + stage.over_budget_bytes);
  // The KV pool may begin anywhere in this band: that is how well the terms before it are known.
  const hasPool = below(stage, 6) > below(stage, 4);
  span("soft", budget - high, hasPool ? budget - Math.max(0, low) : 0);
  for (const line of all(bar, "line")) {
    const place = line.matches(".total-line") ? total : budget;
    set(line, { x1: at(place), x2: at(place) });
    // Where it lies within a part, a light edge sets it apart.
    show(line, place < widest && (total < widest || !line.matches(".halo")));
  }
};

/** @param {Element} group @param {number} widest */
function drawScale(group, widest) {
  const end = Number(gib(widest).replaceAll(",", ""));
  const power = 10 ** Math.floor(Math.log10(end / TICKS));
  const step = power * ([1, 2, 5].find((size) => end / (size * power) <= TICKS) ?? 10);
  const ticks = Array.from({ length: Math.ceil(end / step - 0.4) }, (_, index) => index * step);
  each(group, [...ticks, end], (text, value, index) => {
    const isLast = index === ticks.length;
    const anchor = isLast ? "end" : index ? "middle" : "start";
    set(text, { x: `${(value / end) * 100}%`, y: 13, "text-anchor": anchor });
    setText(text, isLast ? `${gib(widest)} GiB` : String(value));
  });
}
