// @ts-check

import { each, find, on, set, setFigure, setText } from "../dom.js";
import { concurrency, count, times } from "../format.js";
import { VERDICTS } from "../strings.js";

/** @type {Widget} */
export const createKnobs = (root, change) => {
  const body = find(root, "tbody");
  /** @type {KnobRow[]} */
  let rows = [];
  on(body, "click", ({ target }) => {
    const row = target.closest("button") && rows[[...body.children].indexOf(target.closest("tr"))];
    if (row) change(row.changes, "commit");
  });

  return {
    element: root,
    update({ result, knobs }) {
      if (!result || !knobs) return;
      rows = knobs.rows;
      each(body, rows, ({ children: [name, to, longest, atOnce] }, knob) => {
        const { longest_request_tokens: tokens, max_concurrency_for_workload: held } = knob;
        const [figure, gain] = longest.children;
        const flag = nameOf(knob.field);
        const where = `knobs.${knob.field}.`;
        setText(name, flag);
        setText(to.firstChild, knob.label);
        set(to.firstChild, { "aria-label": `Apply ${flag} ${knob.label}` });
        setFigure(figure, `${where}longest_request_tokens`, tokens, tokens ? count(tokens) : "");
        const [text, tone] = gainOf(knob, result);
        setText(gain, text);
        set(gain, { class: tone });
        const atOnceText = held === null ? "–" : concurrency(held);
        setFigure(atOnce.firstChild, `${where}max_concurrency_for_workload`, held, atOnceText);
      });
    },
  };
};

/** @param {string} field */
const nameOf = (field) =>
  field === "quantization" ? "weights" : `--${field.replaceAll("_", "-")}`;

/** @param {KnobRow} knob @param {Result} result @returns {[string, string]} */
function gainOf({ verdict, longest_request_tokens: tokens }, result) {
  const { longest_request_tokens: before, model_limit_tokens: limit } = result;
  if (verdict === "refused" || verdict === "does_not_fit") {
    return [VERDICTS[verdict].toLowerCase(), "down"];
  }
  if (!tokens || !before || tokens === before) return ["", ""];
  return [
    tokens === limit ? "card limit" : times(tokens / before),
    tokens > before ? "up" : "down",
  ];
}
