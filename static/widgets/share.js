// @ts-check

import { all, on, setText } from "../dom.js";

/** @param {ParentNode} root @param {View} view @param {(said: string) => void} announce */
export function createShare(root, view, announce) {
  for (const button of all(root, "[data-share]")) {
    const title = button.textContent;
    on(button, "click", async () => {
      const { flat, result } = view;
      const { share } = button.dataset;
      if (!result) return;
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

/** @param {ParentNode} root @param {Result} result @param {string} address */
export function toMarkdown(root, result, address) {
  const { model_name, num_accelerators, chosen } = result;
  const cells = all(root, ".verdict > div").map(({ children }) =>
    [...children].slice(0, 3).map((cell) => cell.textContent.replace(/\s+/g, " ").trim()),
  );
  const rows = [["figure", "value", "note"], ["---", "---", "---"], ...cells];
  return [
    `**${model_name}** on ${num_accelerators} × ${chosen.accelerator}, vLLM ${chosen.engine_version}`,
    "",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
    ...result.refusals.map(({ message }) => `\n    ${message.replaceAll("\n", "\n    ")}`),
    `\n[Napkin](${address})`,
  ].join("\n");
}
