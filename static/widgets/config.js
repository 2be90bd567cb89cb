// @ts-check
/** A config.json by paste, drop or file. Its text goes to the core as it is, unparsed. */

import { all, find, setText, show } from "../dom.js";

/** @import { Changes } from "../view.d.ts" */

/**
 * @param {HTMLDialogElement} dialog
 * @param {(texts: Changes) => Promise<string>} use answers what is wrong with them, or nothing
 */
export function createConfig(dialog, use) {
  const [area, failure, files, hint] = all(dialog, "textarea, .failure, input, .row .hint");
  const root = document.documentElement;
  let quantization = "";

  function open(text = area.value) {
    area.value = text;
    show(failure, false);
    if (!dialog.open) dialog.showModal();
    area.focus();
  }

  /** @param {Iterable<File>} chosen */
  async function take(chosen) {
    for (const file of chosen) {
      const text = await file.text();
      if (file.name.includes("quant_config")) quantization = text;
      else area.value = text;
      setText(hint, file.name + (quantization && ", with hf_quant_config.json"));
    }
    open();
  }

  find(dialog, "[data-act=use]").addEventListener("click", async () => {
    setText(hint, "Reading …");
    const wrong = await use({
      config: area.value,
      ...(quantization && { hf_quant_config: quantization }),
    });
    setText(hint, "");
    setText(failure, wrong);
    show(failure, wrong !== "");
    if (wrong === "") dialog.close();
  });
  find(dialog, "[data-act=cancel]").addEventListener("click", () => dialog.close());
  files.addEventListener("change", () => take(files.files));
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    root.classList.add("dropping");
  });
  document.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!relatedTarget) root.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    root.classList.remove("dropping");
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });
  return { element: dialog, open };
}
