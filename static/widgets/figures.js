// @ts-check

import { all, find, setFigure, setText, setVariant, show } from "../dom.js";
import * as format from "../format.js";
import { slots, VERDICTS } from "../strings.js";

/** @type {Widget} */
export const createFigures = (root) => {
  const as = (/** @type {any} */ { dataset }) => /** @type {any} */ (format)[dataset.as];
  return {
    element: root,
    update(view) {
      const texts = slots(view);
      for (const node of all(root, "[data-slot]")) setText(node, texts[node.dataset.slot] ?? "");
      const { result } = view;
      if (!result) return;
      setFigure(find(root, ".said data"), "verdict", result.verdict, VERDICTS[result.verdict]);
      setVariant(find(root, "#reason"), "#reasons", result.reason.kind);
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
        setText(node, low === high ? "" : `${low} to ${high}${node.dataset.after ?? ""}`);
      }
    },
  };
};
