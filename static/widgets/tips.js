// @ts-check
/** One line on what a word means, by hover or focus; Escape takes it away. */

import { set, setText, show } from "../dom.js";

const GAP = 8;

/** @param {HTMLElement} tip */
export function createTips(tip) {
  /** @param {EventTarget | null} target */
  function open(target) {
    const holder = /** @type {Element | null} */ (target)?.closest?.("[data-term], .pick, label");
    const named = holder?.matches("[data-term]") ? holder : holder?.querySelector("[data-term]");
    const text = document.getElementById(`term-${named?.getAttribute("data-term")}`)?.textContent;
    show(tip, Boolean(text));
    if (!text || !holder) return;
    setText(tip, text);
    const { left, top, bottom } = holder.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = tip;
    const y = top - height - GAP > 0 ? top - height - GAP : bottom + GAP;
    const x = Math.max(GAP, Math.min(left, innerWidth - width - GAP));
    Object.assign(tip.style, { left: `${x}px`, top: `${y}px` });
  }

  document.addEventListener("pointerover", ({ target }) => {
    if (target !== tip) open(target);
  });
  document.addEventListener("focusin", ({ target }) => open(target));
  document.addEventListener("focusout", () => show(tip, false));
  document.addEventListener("scroll", () => show(tip, false), { passive: true });
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") show(tip, false);
  });
  set(tip, { role: "tooltip" });
  return { element: tip };
}
