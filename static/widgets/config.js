// @ts-check
/** A config.json by paste, drop or file. Its text goes to the core as it is, unparsed. */

import { all, find, MOST_SHOWN, on, onLongPaste, setText } from "../dom.js";

/** @param {HTMLDialogElement} dialog @param {(texts: Changes) => Promise<string>} use answers what is wrong */
export function createConfig(dialog, use) {
  const [area, failure, files, hint] = all(dialog, "textarea, .failure, input, .row .hint");
  let whole = "";
  let quantization = "";

  /** @param {string} text */
  function put(text) {
    whole = text.length > MOST_SHOWN ? text : "";
    area.value = whole ? `${text.slice(0, 1000)} …` : text;
  }

  /** @param {string} [text] */
  function open(text) {
    if (text !== undefined) put(text);
    setText(failure, "");
    if (!dialog.open) dialog.showModal();
    area.focus();
  }

  /** @param {Iterable<File>} chosen */
  async function take(chosen) {
    for (const file of chosen) {
      const text = await file.text();
      if (file.name.includes("quant_config")) quantization = text;
      else put(text);
      setText(hint, file.name + (quantization && ", with hf_quant_config.json"));
    }
    open();
  }

  on(find(dialog, "[data-act=use]"), "click", async () => {
    setText(hint, "Reading …");
    const extra = quantization && { hf_quant_config: quantization };
    const wrong = await use({ config: whole || area.value, ...extra });
    setText(hint, "");
    setText(failure, wrong);
    if (wrong === "") dialog.close();
  });
  on(dialog, "close", () => {
    quantization = "";
  });
  on(area, "input", () => {
    whole = "";
  });
  onLongPaste(area, take);
  on(files, "change", () => take(files.files));
  on(document, "dragover", (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  });
  on(document, "drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });
  return open;
}
