// @ts-check

import { on, setText, show } from "../dom.js";

const GAP = 8;

/** @param {HTMLElement} tip */
export function createTips(tip) {
  /** @param {any} target @returns {boolean} whether there was something to say */
  function open(target) {
    const holder = target?.closest?.("[data-term], .pick, label");
    const named = holder?.matches("[data-term]") ? holder : holder?.querySelector("[data-term]");
    const text = document.getElementById(`term-${named?.dataset.term}`)?.textContent;
    show(tip, Boolean(text));
    if (!text) return false;
    setText(tip, text);
    const { left, top, bottom } = holder.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = tip;
    const y = top - height - GAP > 0 ? top - height - GAP : bottom + GAP;
    const x = Math.max(GAP, Math.min(left, innerWidth - width - GAP));
    Object.assign(tip.style, { left: `${x}px`, top: `${y}px` });
    return true;
  }
  const hide = () => show(tip, false);

  // What the pointer is on goes first; where it says nothing, what has the focus stays explained.
  on(document, "pointerover", ({ target }) => {
    if (target !== tip && !open(target)) open(document.activeElement);
  });
  on(document, "focusin", ({ target }) => open(target));
  on(document, "focusout", hide);
  on(document, "scroll", hide);
  on(document, "keydown", ({ key }) => {
    if (key === "Escape") hide();
  });
}
