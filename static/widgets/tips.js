// @ts-check

import { on, setText, show } from "../dom.js";

const GAP = 8;
const PATIENCE_MILLISECONDS = 500;

/** @param {HTMLElement} tip */
export function createTips(tip) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** @param {any} target @returns {boolean} whether there was something to say */
  function open(target) {
    const holder = target?.closest?.("[data-term], .pick, label");
    const named = holder?.matches("[data-term]") ? holder : holder?.querySelector("[data-term]");
    const text = document.getElementById(`term-${named?.dataset.term}`)?.textContent;
    show(tip, !!text);
    if (!text) return false;
    setText(tip, text);
    const { left } = holder.getBoundingClientRect();
    // A whole sentence stays readable.
    const { top, bottom } = (holder.closest(".lines") ?? holder).getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = tip;
    const y = bottom + GAP + height < innerHeight ? bottom + GAP : top - height - GAP;
    const x = Math.max(GAP, Math.min(left, innerWidth - width - GAP));
    Object.assign(tip.style, { left: `${x}px`, top: `${y}px` });
    return true;
  }
  function hide() {
    clearTimeout(timer);
    show(tip, false);
  }
  /** @param {any} event */
  function openSoon({ target }) {
    if (target === tip) return;
    clearTimeout(timer);
    // The pointer goes first; where it says nothing, what has the focus stays explained.
    timer = setTimeout(() => open(target) || open(document.activeElement), PATIENCE_MILLISECONDS);
  }

  on(document, "pointerover", openSoon);
  on(document, "focusin", openSoon);
  on(document, "focusout", hide);
  on(document, "scroll", hide);
  on(document, "keydown", ({ key }) => key === "Escape" && hide());
}
