// @ts-check
/** Every figure by hand: what it is, its formula, the numbers put in, and where it comes from. */

import { each, find, set, setParts, setText } from "../dom.js";
import { bytes, count } from "../format.js";
import { figure } from "../strings.js";

/** @import { Figure, View } from "../view.d.ts" */

/** @param {Element} root */
export function createArithmetic(root) {
  return {
    element: root,
    /** @param {View} view */
    update({ result, page }) {
      if (page.panel !== "arithmetic" || !result?.figures) return;
      each(find(root, "ol"), result.figures, ({ children: [top, formula, numbers] }, shown) => {
        const [title, badge, source] = top.children;
        setText(title, shown.summary.replaceAll("`", ""));
        set(badge, { class: `badge ${shown.basis}` });
        setText(badge, shown.basis);
        setText(source, shown.source);
        setText(formula, `${shown.name} = ${pretty(shown.formula)}`);
        setParts(numbers, [`= ${putIn(shown)} = `, valueIn(shown)]);
      });
    },
  };
}

/** Python's operators as on paper. @param {string} formula */
export function pretty(formula) {
  return formula
    .replace(/\s*\*\*\s*/g, " ^ ")
    .replace(/\s*\*\s*/g, " × ")
    .replace(/\s*\/\/?\s*/g, " ÷ ")
    .replaceAll(" - ", " − ");
}

/** The formula with its inputs' values in the place of their names. @param {Figure} shown */
export function putIn({ formula, inputs }) {
  const filled = formula.replace(/[A-Za-z_][\w.]*/g, (name) => {
    const value = Object.hasOwn(inputs, name) ? inputs[name] : name;
    return typeof value === "object" ? name : write(value);
  });
  return pretty(filled);
}

/** @param {unknown} value */
const write = (value) => (Number(value) >= 1000 ? count(Number(value)) : String(value));

/** @param {Figure} shown */
function valueIn({ name, value, unit }) {
  const inUnit = unit === "bytes" && typeof value === "number" ? ` = ${bytes(value)}` : "";
  return figure(name, value ?? "", `${write(value)} ${unit}${inUnit}`);
}
