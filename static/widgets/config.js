// @ts-check
/** A config.json by paste, drop or file. Its text goes to the core as it is, unparsed. */

import { all, find, on, setText, show } from "../dom.js";

/**
 * @param {HTMLDialogElement} dialog
 * @param {(texts: Changes) => Promise<string>} use answers what is wrong with them, or nothing
 */
export function createConfig(dialog, use) {
  const [area, failure, files, hint] = all(dialog, "textarea, .failure, input, .row .hint");
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

  on(find(dialog, "[data-act=use]"), "click", async () => {
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
  on(find(dialog, "[data-act=cancel]"), "click", () => dialog.close());
  on(files, "change", () => take(files.files));
  on(document, "dragover", (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  });
  on(document, "drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });
  return { element: dialog, open };
}
