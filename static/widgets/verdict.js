// @ts-check

import { each, find, on, set, setText, show } from "../dom.js";
import { drawCures, pressedCure } from "./cures.js";

/** @type {Widget} */
export const createVerdict = (root, change) => {
  /** @type {Remedy[]} */
  let remedies = [];
  on(root, "click", ({ target }) => {
    const changes = pressedCure(root, target, remedies);
    if (changes) change(changes, "commit");
  });

  return ({ result }) => {
    const { verdict, refusals, notes, plain_formula } = result;
    set(find(root, ".verdict"), { class: `verdict ${verdict}` });
    const because = plain_formula?.because ?? [];
    show(find(root, "#plain"), because.length > 0);
    const said = [...because, ...notes.map(({ message }) => message)];
    each(find(root, "[data-each=note]"), said, (item, text) => setText(item, text));
    // What cures several refusals at once is offered under the first of them.
    const offered = new Set();
    const cures = refusals.map((refusal) =>
      refusal.remedies.filter(({ label }) => !offered.has(label) && offered.add(label)),
    );
    remedies = cures.flat();
    each(find(root, "[data-each=refusal]"), refusals, ({ children }, refusal, index) => {
      setText(children[0], refusal.message);
      setText(children[1], refusal.choices.length ? `Would do: ${refusal.choices.join(", ")}` : "");
      drawCures(children[2], cures[index] ?? []);
    });
  };
};
