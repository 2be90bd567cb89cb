// @ts-check
/** Taking the scenario along: as a link, as Markdown, as JSON. */

import { all, setText } from "../dom.js";
import { bytes, concurrency, count } from "../format.js";
import { VERDICTS, workloadTokens } from "../strings.js";

/** @import { Result, View } from "../view.d.ts" */

/** @param {HTMLElement} root @param {(said: string) => void} announce */
export function createShare(root, announce) {
  /** @type {View | null} */
  let latest = null;
  for (const button of all(root, "[data-share]")) {
    const title = button.textContent;
    button.addEventListener("click", async () => {
      if (!latest?.result) return;
      const { flat, result } = latest;
      if (button.dataset.share === "json") download({ request: flat, result });
      else
        await copy(
          button.dataset.share === "link" ? location.href : toMarkdown(result, location.href),
        );
      announce("Done");
      setText(button, "Done ✓");
      setTimeout(() => setText(button, title), 1500);
    });
  }
  return {
    element: root,
    /** @param {View} view */
    update(view) {
      latest = view;
    },
  };
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

/** @param {Result} result @param {string} address */
export function toMarkdown(result, address) {
  const { longest_request_tokens: longest, max_concurrency_for_workload: held } = result;
  const rows = [
    ["verdict", VERDICTS[result.verdict]],
    ["weights per GPU", bytes(result.loaded_weights_bytes_per_rank)],
    ["KV cache per GPU", bytes(result.available_kv_cache_bytes)],
    ["KV per token per GPU", bytes(result.kv_cache_bytes_per_token_per_rank)],
    ["longest request", longest === null ? "none" : `${count(longest)} tokens`],
    [
      `requests at ${count(workloadTokens(result))} tokens`,
      held === null ? "none" : concurrency(held),
    ],
    ...result.refusals.map(({ message }) => ["vLLM prints", message.replace(/[|\n]/g, " ")]),
  ];
  const table = [["figure", "value"], ["---", "---"], ...rows].map(
    (row) => `| ${row.join(" | ")} |`,
  );
  const title = `**${result.model_name}** on ${result.num_accelerators} × ${result.chosen.accelerator}, vLLM ${result.chosen.engine_version}`;
  return [title, "", ...table, "", `[Napkin](${address})`].join("\n");
}
