// @ts-check

import { all, each, find, on, set, setText, show } from "../dom.js";
import { concurrency, count } from "../format.js";

/** @type {Widget} */
export const createVerdict = (root, change) => {
  /** @type {Remedy[]} */
  let remedies = [];
  on(root, "click", ({ target }) => {
    const pressed = target.closest(".cures button");
    const remedy = pressed && remedies[all(root, ".cures button").indexOf(pressed)];
    if (remedy) change(remedy.changes, "commit");
  });

  return {
    element: root,
    update({ result }) {
      if (!result) return;
      const { verdict, refusals, notes, plain_formula } = result;
      set(find(root, ".verdict"), { class: `verdict ${verdict}` });
      const because = plain_formula?.because ?? [];
      show(find(root, "#plain"), because.length > 0);
      const said = [...because, ...notes.map(({ message }) => message)];
      each(find(root, "[data-each=note]"), said, (item, text) => setText(item, text));
      remedies = refusals.flatMap((refusal) => refusal.remedies);
      each(find(root, "[data-each=refusal]"), refusals, ({ children }, refusal) => {
        setText(children[0], refusal.message);
        setText(
          children[1],
          refusal.choices.length ? `Would do: ${refusal.choices.join(", ")}` : "",
        );
        each(children[2], refusal.remedies, (button, remedy) => {
          setText(button.children[0], remedy.label);
          setText(button.children[1], outcome(remedy));
        });
      });
    },
  };
};

/** @param {Remedy} remedy */
function outcome({ verdict, longest_request_tokens: longest, max_concurrency_for_workload: held }) {
  if (verdict !== "fits" && verdict !== "tight") return "alone is not enough";
  return `holds ${count(Number(longest))} tokens, ${concurrency(Number(held))} at once`;
}
