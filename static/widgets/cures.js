// @ts-check
/** Single changes that cure something, each with what it leads to. */

import { all, each, fill } from "../dom.js";
import { concurrency, count, plural } from "../format.js";

/** @param {Element} list @param {readonly Remedy[]} remedies */
export const drawCures = (list, remedies) =>
  each(list, remedies, (button, remedy) => {
    fill(button, { ...remedy, outcome: outcome(remedy) });
    // What is done outside the scenario is only said.
    button.disabled = !Object.keys(remedy.changes).length;
  });

/** The changes of a pressed cure, of all that stand in one place. @param {Element} root @param {any} target @param {readonly Remedy[]} remedies */
export const pressedCure = (root, target, remedies) =>
  remedies[all(root, ".cures button").indexOf(target.closest("button"))]?.changes;

/** @param {any} remedy */
function outcome({ verdict, changes, num_accelerators: gpus, ...there }) {
  if (!verdict) return "";
  if (verdict !== "fits" && verdict !== "tight") return "alone is not enough";
  const held = `${concurrency(there.max_concurrency_for_workload)} at once`;
  if (changes.max_model_len) return `starts, ${held}`;
  const takes = changes.tensor_parallel_size ? ` on ${plural(gpus, "GPU")}` : "";
  return `holds ${count(there.longest_request_tokens)} tokens, ${held}${takes}`;
}
