// @ts-check

import { each, fill, find, on, phrase, set } from "../dom.js";
import { concurrency, count, times } from "../format.js";

/** @type {Widget} */
export const createKnobs = (root, change) => {
  const body = find(root, "tbody");
  /** @type {KnobRow[]} */
  let rows = [];
  on(body, "click", ({ target }) => {
    const row = target.closest("button") && rows[[...body.children].indexOf(target.closest("tr"))];
    if (row) change(row.changes, "commit");
  });

  return ({ result, knobs }) => {
    rows = knobs.rows;
    each(body, rows, (row, knob) => {
      const { field, longest_request_tokens: tokens, max_concurrency_for_workload: held } = knob;
      const [gain, tone] = gainOf(knob, result);
      const name = nameOf(field);
      const label = knob.label.replace(/\d{4,}/, (digits) => count(Number(digits)));
      const atOnce = held === null ? "–" : concurrency(held);
      fill(row, {
        name,
        label,
        gain,
        longest: [`knobs.${field}.longest_request_tokens`, tokens, tokens ? count(tokens) : ""],
        atOnce: [`knobs.${field}.max_concurrency_for_workload`, held, atOnce],
      });
      set(find(row, "button"), { "aria-label": `Apply ${name} ${label}` });
      set(find(row, "span"), { class: tone });
    });
  };
};

/** @param {string} field */
const nameOf = (field) =>
  field === "quantization" ? "weights" : `--${field.replaceAll("_", "-")}`;

/** @param {KnobRow} knob @param {Result} result @returns {[string, string]} */
function gainOf({ verdict, longest_request_tokens: tokens }, result) {
  const { longest_request_tokens: before, model_limit_tokens: limit } = result;
  if (verdict === "refused" || verdict === "does_not_fit") {
    return [phrase(verdict).toLowerCase(), "bad"];
  }
  if (!tokens || !before || tokens === before) return ["", ""];
  return [
    tokens === limit ? "card limit" : times(tokens / before),
    tokens > before ? "good" : "bad",
  ];
}
