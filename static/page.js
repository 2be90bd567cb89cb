// @ts-check
/** The widgets and the view that they draw: the same in a browser and when the site is built. */

import { find, set, show } from "./dom.js";
import { createArithmetic } from "./widgets/arithmetic.js";
import { createBars } from "./widgets/bars.js";
import { createControls } from "./widgets/controls.js";
import { createFigures } from "./widgets/figures.js";
import { createFrontier } from "./widgets/frontier.js";
import { createKnobs } from "./widgets/knobs.js";
import { createVerdict } from "./widgets/verdict.js";

/** @import { Change, FirstAnswers, Flat, PageState, View } from "./view.d.ts" */

/** @param {Document} root @param {Change} change */
export function createPage(root, change) {
  const part = (/** @type {string} */ id) => find(root, `#${id}`);
  const progress = find(root, "progress");
  const widgets = [
    createControls(part("scenario"), change),
    createFigures(find(root, "main")),
    createVerdict(part("verdict"), change),
    createBars(part("bars")),
    createKnobs(part("knobs"), change),
    createFrontier(part("frontier"), change),
    createArithmetic(part("arithmetic")),
  ];

  return {
    /** @param {View} view */
    update(view) {
      for (const widget of widgets) widget.update(view);
      const { state, loadedBytes, totalBytes } = view.core;
      // How far the core is: the tests and the style sheet read it here.
      root.documentElement.setAttribute("data-core", state);
      const isBad = state === "stalled" || state === "failed";
      show(part("loading"), isBad || state === "starting");
      show(progress.nextElementSibling, isBad);
      show(progress, !isBad);
      set(progress, { value: loadedBytes / (totalBytes || 1) });
      const isOpen = view.page.panel === "arithmetic";
      show(part("arithmetic"), isOpen);
      set(find(root, "[data-panel]"), { "aria-expanded": isOpen });
      part("answer").classList.toggle("stale", view.standing !== "current");
    },
  };
}

/** The view of the answers that the page comes with. @param {FirstAnswers} answers @param {{ flat: Flat, page: PageState }} scenario @returns {View} */
export function firstView({ size, knobs, frontier }, scenario) {
  return {
    ...scenario,
    result: size.result,
    failure: null,
    knobs: knobs.result.rows,
    frontier: frontier.result,
    standing: "current",
    core: { state: "", detail: "", loadedBytes: 0, totalBytes: 0 },
  };
}
