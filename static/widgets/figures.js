// @ts-check

import { all, find, phrase, setFigure, setText, setVariant, show } from "../dom.js";
import * as format from "../format.js";
import { slots } from "../strings.js";

/** @type {Widget} */
export const createFigures = (root) => {
  const as = (/** @type {any} */ { dataset }) => /** @type {any} */ (format)[dataset.as];
  return (view) => {
    const { result } = view;
    for (const node of all(root, ".reason")) setVariant(node, "#reasons", result.reason.kind);
    const texts = slots(view);
    for (const node of all(root, "[data-slot]")) setText(node, texts[node.dataset.slot] ?? "");
    setFigure(find(root, ".said data"), "verdict", result.verdict, phrase(result.verdict));
    const plain = Object.entries(result.plain_formula ?? {});
    const values = {
      ...result.memory_by_stage[0],
      ...result.chosen,
      ...result,
      ...Object.fromEntries(plain.map(([name, value]) => [`plain_formula.${name}`, value])),
    };
    for (const node of all(root, "[data-as][data-figure]")) {
      const { figure } = node.dataset;
      const value = /** @type {any} */ (values)[figure] ?? null;
      setFigure(node, figure, value, value === null ? "–" : as(node)(value));
    }
    for (const node of all(root, "[data-range]")) {
      const [low, high] = (result.bounds[node.dataset.range] ?? []).map(as(node));
      show(node, low !== high);
      const { before = "", after = "" } = node.dataset;
      setText(node, low === high ? "" : `${before}${low} to ${high}${after}`);
    }
  };
};
