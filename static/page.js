// @ts-check
/** The widgets: the same in a browser and when the site is built. */

import { all, find, set, show } from "./dom.js";
import { createArithmetic } from "./widgets/arithmetic.js";
import { createBars } from "./widgets/bars.js";
import { createControls } from "./widgets/controls.js";
import { createFigures } from "./widgets/figures.js";
import { createFrontier } from "./widgets/frontier.js";
import { createKnobs } from "./widgets/knobs.js";
import { createVerdict } from "./widgets/verdict.js";

const WIDGETS = {
  "#scenario": createControls,
  main: createFigures,
  "#verdict": createVerdict,
  "#bars": createBars,
  "#knobs": createKnobs,
  "#frontier": createFrontier,
  "#arithmetic": createArithmetic,
};

/** @param {Document} root @param {Change} change */
export function createPage(root, change) {
  const widgets = Object.entries(WIDGETS).map(([at, create]) => create(find(root, at), change));
  const [loading, progress, retry, answer] = all(root, "#loading, #loading *:not(span), #answer");

  /** @param {View} view */
  return (view) => {
    for (const draw of widgets) draw(view);
    const { state, loadedBytes, totalBytes } = view.core;
    const isBad = state === "stalled" || state === "failed";
    show(loading, isBad || state === "starting");
    show(retry, isBad);
    show(progress, !isBad);
    set(progress, { value: loadedBytes / (totalBytes || 1) });
    for (const tab of all(root, "[data-panel]")) {
      const isOpen = tab.dataset.panel === view.page.panel;
      set(tab, { "aria-expanded": isOpen });
      show(find(root, `#${tab.dataset.panel}`), isOpen);
    }
    answer.classList.toggle("stale", view.standing !== "current");
  };
}

/** @param {FirstAnswers} answers @param {{ flat: Flat, page: PageState }} scenario @returns {View} */
export function firstView({ size, knobs, frontier }, scenario) {
  return {
    ...scenario,
    result: size.result,
    failure: null,
    knobs: knobs.result,
    frontier: frontier.result,
    standing: "current",
    core: { state: "", detail: "", loadedBytes: 0, totalBytes: 0 },
  };
}
