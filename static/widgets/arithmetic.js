// @ts-check

import { each, find, set, setFigure, setText } from "../dom.js";
import { bytes, count } from "../format.js";

/** @type {Widget} */
export const createArithmetic = (root) => {
  return {
    element: root,
    update({ result, page }) {
      if (page.panel === "") return;
      const figures = result?.figures ?? [];
      each(find(root, "ol"), figures, ({ children: [top, formula, numbers] }, shown) => {
        const [title, badge, source] = top.children;
        setText(title, shown.summary.replaceAll("`", ""));
        set(badge, { class: `badge ${shown.basis}` });
        setText(badge, shown.basis);
        setText(source, shown.source);
        setText(formula, `${shown.name} = ${pretty(shown.formula)}`);
        setText(numbers.children[0], `= ${putIn(shown)} =`);
        setFigure(numbers.children[1], shown.name, shown.value, valueIn(shown));
      });
    },
  };
};

/** @param {string} formula */
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
function valueIn({ value, unit }) {
  const inUnit = unit === "bytes" && typeof value === "number" ? ` = ${bytes(value)}` : "";
  return `${write(value)} ${unit}${inUnit}`;
}
