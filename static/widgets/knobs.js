// @ts-check
/** Which knob moves what: each row changes one thing from here, and its button does it. */

import { each, find, set, setParts, setText } from "../dom.js";
import { concurrency, count, times } from "../format.js";
import { figure, VERDICTS } from "../strings.js";

/** @import { Change, KnobRow, Result, View } from "../view.d.ts" */

/** @param {Element} root @param {Change} change */
export function createKnobs(root, change) {
  const body = find(root, "tbody");
  /** @type {KnobRow[]} */
  let rows = [];
  body.addEventListener("click", (/** @type {any} */ { target }) => {
    const row = target.closest("button") && rows[[...body.children].indexOf(target.closest("tr"))];
    if (row) change(row.changes, "commit");
  });

  return {
    element: root,
    /** @param {View} view */
    update({ result, knobs }) {
      if (!result || !knobs) return;
      rows = knobs;
      each(body, rows, ({ children: [name, to, longest, atOnce] }, knob) => {
        const { longest_request_tokens: tokens, max_concurrency_for_workload: held } = knob;
        const where = `knobs.${knob.field}.`;
        setText(name, nameOf(knob.field));
        setText(to.firstElementChild, knob.label);
        set(to.firstElementChild, { "aria-label": `Apply ${nameOf(knob.field)} ${knob.label}` });
        setParts(longest, [
          tokens === null ? "" : figure(`${where}longest_request_tokens`, tokens, count(tokens)),
          " ",
          gain(knob, result),
        ]);
        const text = held === null ? "–" : concurrency(held);
        setParts(atOnce, [figure(`${where}max_concurrency_for_workload`, held ?? "", text)]);
      });
    },
  };
}

/** As on the command line. @param {string} field */
const nameOf = (field) =>
  field === "quantization" ? "weights" : `--${field.replaceAll("_", "-")}`;

/** What becomes of the longest request. @param {KnobRow} knob @param {Result} result */
function gain({ verdict, longest_request_tokens: tokens }, result) {
  const { longest_request_tokens: before, model_limit_tokens: limit } = result;
  if (verdict === "refused" || verdict === "does_not_fit") {
    return { tag: "del", text: VERDICTS[verdict].toLowerCase() };
  }
  if (!tokens || !before || tokens === before) return "";
  return {
    tag: tokens > before ? "ins" : "del",
    text: tokens === limit ? "card limit" : times(tokens / before),
  };
}
