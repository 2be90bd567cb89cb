// @ts-check

import { each, fill, find, set } from "../dom.js";
import { amount, bytes, count } from "../format.js";

/** @type {Widget} */
export const createArithmetic = (root) => {
  return ({ result, page }) => {
    if (page.panel === "") return;
    const list = find(root, "ol");
    const first = list.dataset.first.split(" ").reverse();
    const figures = [...(result.figures ?? [])].sort(
      (one, other) => first.indexOf(other.name) - first.indexOf(one.name),
    );
    each(list, figures, ({ firstElementChild: item }, shown) => {
      const summary = shown.summary.replaceAll("`", "");
      const end = summary.search(/[.:](\s|$)/);
      const title = summary.slice(0, end);
      // What a reader opens or folds stays so.
      if (find(item, "b").textContent !== title) item.open = first.includes(shown.name);
      fill(item, {
        ...shown,
        title,
        rest: summary.slice(end + 2),
        result: resultOf(shown),
        formula: `${shown.name} = ${pretty(shown.formula)}`,
        numbers: `= ${putIn(shown)} =`,
        value: [shown.name, shown.value, `${write(shown.value)} ${shown.unit}`],
      });
      set(find(item, ".badge"), { class: `badge ${shown.basis}` });
    });
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
const resultOf = ({ value, unit }) =>
  unit === "bytes" ? bytes(Number(value)) : `${amount(Number(value), unit)} ${unit}`;
