// @ts-check

import { all, on, phrase, setText } from "../dom.js";

/** @param {ParentNode} root @param {View} view @param {(said: string) => void} announce */
export function createShare(root, view, announce) {
  for (const button of all(root, "[data-share]")) {
    const title = button.textContent;
    on(button, "click", async () => {
      const { flat, result } = view;
      const { share } = button.dataset;
      if (share === "json") download({ request: flat, result });
      else
        await copy(
          share === "link"
            ? location.href
            : share === "rules"
              ? all(root, "#rules")[0].textContent
              : toMarkdown(document, result, location.href),
        );
      announce("Done");
      setText(button, "Done ✓");
      setTimeout(() => setText(button, title), 1500);
    });
  }
}

/** @param {object} value */
function download(value) {
  const text = JSON.stringify(value, null, 2);
  const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  Object.assign(document.createElement("a"), { href, download: "napkin.json" }).click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Some frames may not write to the clipboard: then the text is shown, to be copied by hand.
    prompt("Copy this:", text);
  }
}

/** What a node says, on one line; what stands on lines of its own is told apart. @param {Element} node */
const line = ({ childNodes }) => {
  const texts = [...childNodes].map((/** @type {any} */ part) =>
    part.hidden ? "" : part.textContent,
  );
  return texts
    .join("")
    .trim()
    .split(/\s*\n\s*/)
    .filter(Boolean)
    .join("; ");
};

/** @param {ParentNode} root @param {Result} result @param {string} address */
export function toMarkdown(root, result, address) {
  const { model_name, num_accelerators, chosen } = result;
  const lines = (/** @type {string} */ selector) => all(root, selector).map(line);
  const rows = all(root, ".verdict > div").map(({ children }) =>
    [...children].slice(0, 3).map(line).join(" | "),
  );
  return [
    `**${model_name}** on ${num_accelerators} × ${chosen.accelerator}, vLLM ${chosen.engine_version}`,
    "",
    ...["figure | value | note", "--- | --- | ---", ...rows].map((row) => `| ${row} |`),
    ...result.refusals.map(({ message }) => `\n    ${message.replaceAll("\n", "\n    ")}`),
    "",
    ...lines("#verdict .cures button").map((cure) => `- ${cure}`),
    `\n${phrase("parts")}: ${lines(".legend > :not([hidden])").join("; ")}.`,
    `\n${phrase("basis")}\n\n[Napkin](${address})`,
  ].join("\n");
}
