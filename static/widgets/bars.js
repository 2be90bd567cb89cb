// @ts-check
/** Memory of each GPU: bars, and the table that they are drawn from. */

import { all, each, find, set, setFigure, setText, show } from "../dom.js";
import { gib } from "../format.js";

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
/** @type {Part[]} */
const COLUMNS = [...STACK, "outside_budget_bytes", "over_budget_bytes"];
/** GPUs are drawn one by one up to so many, then as one bar for all that are alike. */
const DRAWN_SINGLY = 4;
const ROOM_FOR_LABEL = 0.055;
const TICKS = 5;

/** @type {Widget} */
export const createBars = (root) => {
  const [bars, scale, holder, body] = all(root, "[data-each=gpu], .scale g, [role=group], tbody");
  return {
    element: root,
    update({ result }) {
      const stages = result?.memory_by_stage ?? [];
      show(root, stages.length > 0);
      if (!result || stages.length === 0) return;
      const { bounds } = result;
      const isOne = stages.length === 1;
      const widest = Math.max(
        ...stages.map((stage) => Math.max(stage.total_bytes, below(stage, 6))),
      );
      each(bars, rowsOf(stages), (bar, { title, stage }) => {
        setText(bar.children[0], title);
        drawBar(bar.children[1], stage, widest, bounds.available_kv_cache_bytes ?? [0, 0]);
      });
      drawScale(scale, widest);
      for (const entry of all(root, "[data-part]")) {
        const part = /** @type {Part} */ (entry.dataset.part);
        show(
          entry,
          stages.some((stage) => stage[part] > 0),
        );
        // With several stages the numbers differ: then the table says them, for all to see.
        for (const number of all(entry, "b, [data-range]"))
          number.classList.toggle("unseen", !isOne);
      }
      const { weights_bytes_per_rank: created, loaded_weights_bytes_per_rank: loaded } = result;
      show(find(root, "#created"), gib(Number(created)) !== gib(Number(loaded)));
      set(holder, { class: isOne ? "unseen" : "scroll", tabindex: isOne ? null : 0 });
      each(body, stages, ({ children }, stage) => {
        setText(children[0], titleOf(stage, stages));
        for (const [index, part] of COLUMNS.entries()) {
          const name = `memory_by_stage.${stage.stage}.${part}`;
          setFigure(children[index + 1].firstChild, name, stage[part], gib(stage[part]));
        }
      });
    },
  };
};

/** Bytes of the parts below one. @param {Stage} stage @param {number} index */
const below = (stage, index) => STACK.slice(0, index).reduce((sum, part) => sum + stage[part], 0);

/** @param {Stage[]} stages */
function rowsOf(stages) {
  const gpus = stages.flatMap((stage) => Array(stage.num_ranks).fill(stage));
  return gpus.length > DRAWN_SINGLY
    ? stages.map((stage) => ({ title: titleOf(stage, stages), stage }))
    : gpus.map((stage, index) => ({ title: `GPU ${index}`, stage }));
}

/** @param {Stage} stage @param {Stage[]} stages */
function titleOf({ stage, num_ranks }, { length }) {
  return length > 1 ? `stage ${stage}, ×${num_ranks}` : `${num_ranks} GPUs`;
}

/** @type {(bar: Element, stage: Stage, widest: number, pool: [number, number]) => void} */
const drawBar = (bar, stage, widest, [low, high]) => {
  const at = (/** @type {number} */ bytes) => `${Math.round((bytes / widest) * 1e5) / 1e3}%`;
  const { budget_bytes: budget, total_bytes: total } = stage;
  /** @type {(name: string, start: number, bytes: number) => void} */
  const span = (name, start, bytes) => {
    const part = find(bar, `.${name}`);
    show(part, bytes > 0);
    set(part, { x: at(start), width: at(Math.max(0, bytes)) });
  };
  /** @type {(text: Element, name: string, index: number) => void} */
  const label = (text, name, index) => {
    const bytes = stage[/** @type {Part} */ (STACK[index])];
    const share = bytes / widest;
    show(text, share > ROOM_FOR_LABEL);
    text.classList.toggle("wide", share < 3 * ROOM_FOR_LABEL);
    // What is beyond the budget is hatched: the label stands before that.
    const end = Math.min(below(stage, index + 1), budget);
    set(text, { x: at((below(stage, index) + end) / 2) });
    setText(text, `${name} ${gib(bytes)}`);
  };
  for (const [index, part] of STACK.entries()) span(part, below(stage, index), stage[part]);
  span("over", budget, stage.over_budget_bytes);
  // The KV pool may begin anywhere in this band: that is how well the terms before it are known.
  const hasPool = below(stage, 6) > below(stage, 4);
  span("soft", budget - high, hasPool ? high - Math.max(0, low) : 0);
  set(find(bar, ".budget-line"), { x1: at(budget), x2: at(budget) });
  set(find(bar, ".total-line"), { x1: at(total), x2: at(total) });
  show(find(bar, ".total-line"), total < widest);
  const [weights, kv] = all(bar, "text");
  label(weights, "weights", 0);
  label(kv, "KV", 4);
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
