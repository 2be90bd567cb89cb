// @ts-check
/** What index.html names: figures with raw value and text, their ranges, and slots for short texts. */

import { all, find, set, setParts, setText, setVariant, show } from "../dom.js";
import * as format from "../format.js";
import { slots } from "../strings.js";

/** @import { View } from "../view.d.ts" */

/** @param {ParentNode} root */
export function createFigures(root) {
  const as = (/** @type {any} */ { dataset }) => /** @type {any} */ (format)[dataset.as];
  return {
    element: root,
    /** @param {View} view */
    update(view) {
      const texts = slots(view);
      for (const node of all(root, "[data-slot]")) setParts(node, texts[node.dataset.slot] ?? []);
      const { result } = view;
      if (!result) return;
      setVariant(find(root, "#reason"), "#reasons", result.reason.kind);
      const values = { ...result.memory_by_stage[0], ...result.chosen, ...result };
      for (const node of all(root, "[data-as][data-figure]")) {
        const value = /** @type {any} */ (values)[node.dataset.figure];
        set(node, { value: value ?? "" });
        setText(node, value === null ? "–" : as(node)(value));
      }
      for (const node of all(root, "[data-range]")) {
        const [low, high] = (result.bounds[node.dataset.range] ?? []).map(as(node));
        show(node, low !== high);
        setText(node, `${low} to ${high}${node.dataset.after ?? ""}`);
      }
    },
  };
}
