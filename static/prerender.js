// @ts-check
/**
 * Draw the first answers into index.html when the site is built, with the page's own widgets, so
 * that the first paint has real numbers and the drawing code exists once. Not shipped.
 *
 * node static/prerender.js --index index.html --answers answers.json --out drawn.html
 */

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { parseHTML } from "linkedom";

import { each, find, set, setText } from "./dom.js";
import { shortDtype } from "./format.js";
import { createPage, firstView } from "./page.js";
import { flatten } from "./state.js";
import { readAddress, writeAddress } from "./url.js";
import { createModels } from "./widgets/models.js";

/** @param {string} text of index.html @param {FirstAnswers} answers */
export function prerender(text, answers) {
  const { document } = parseHTML(text);
  Object.assign(globalThis, { document });
  const defaults = flatten(answers.request);
  const view = firstView(answers, readAddress("", defaults));
  const catalogue = answers.catalogue.result;
  const form = find(document, "#scenario");
  fillChoices(form, catalogue);
  fillExamples(document, catalogue, defaults);
  createPage(document, () => {})(view);
  createModels(
    form,
    catalogue.models,
    () => {},
    async () => "",
    () => {},
  )(view);
  embed(document, answers);
  return document.toString();
}

/** @param {HTMLFormElement} form @param {Catalogue} catalogue */
function fillChoices(form, { accelerators, engine_versions, kv_cache_dtypes, quantizations }) {
  /** @param {string} value @param {string} text @param {string} [short] */
  const option = (value, text, short = text) => {
    const made = document.createElement("option");
    set(made, { value, "data-short": short });
    setText(made, text);
    return made;
  };
  /** @param {string} name @param {string[]} values @param {(value: string) => string} write */
  const fill = (name, values, write) => {
    const options = values.map((value) => option(value, write(value)));
    find(form, `[name=${name}]`).replaceChildren(...options);
  };
  fill("quantization", ["", ...quantizations.filter(Boolean)], String);
  fill(
    "kv_cache_dtype",
    ["auto", ...kv_cache_dtypes.filter((name) => name !== "auto")],
    shortDtype,
  );
  fill("engine_version", engine_versions, (version) => `vLLM ${version.replace(/\.0$/, "")}`);
  const groups = [...new Set(accelerators.map(({ vendor }) => vendor))].map((label) => {
    const group = document.createElement("optgroup");
    set(group, { label });
    const rows = accelerators.filter(({ vendor }) => vendor === label);
    group.append(
      ...rows.map(({ id, name, basis, known }) => {
        const remark = basis === "measured" ? "" : " (memory assumed)";
        const size = /\d+gb/.exec(id)?.[0].toUpperCase() ?? "";
        const full = name.includes("GB") || !size ? name : `${name} ${size}`;
        const made = option(id, full + (known ? remark : " (not sized yet)"), full);
        set(made, { disabled: known ? null : "" });
        return made;
      }),
    );
    return group;
  });
  const other = option("other", "Another: enter its memory", "another GPU");
  find(form, "[name=accelerator]").replaceChildren(...groups, other);
}

/** @param {Document} document @param {Catalogue} catalogue @param {Flat} defaults */
function fillExamples(document, { examples }, defaults) {
  each(
    find(document, "[data-each=example]"),
    examples,
    ({ children: [link] }, { name, summary, request }) => {
      const address = writeAddress(flatten(request), { embed: false, panel: "" }, defaults);
      set(link, { href: address || "?" });
      setText(link.children[0], name);
      setText(link.children[1], summary);
    },
  );
}

/** What the page needs of the answers to go on from them. @param {Document} document @param {FirstAnswers} answers */
function embed(document, { catalogue, ...answers }) {
  const block = document.createElement("script");
  set(block, { type: "application/json", id: "first-answers" });
  const { models, voids } = catalogue.result;
  const kept = { ...answers, catalogue: { ok: true, result: { models, voids } } };
  // No markup inside a string may end the block.
  block.textContent = JSON.stringify(kept).replaceAll("<", "\\u003c");
  document.body.append(block);
}

if (process.argv[1]?.endsWith("prerender.js")) {
  const { values } = parseArgs({
    options: {
      index: { type: "string" },
      answers: { type: "string" },
      assets: { type: "string" },
      out: { type: "string" },
    },
  });
  const { index, answers, out } = values;
  if (!index || !answers || !out) throw new Error("--index, --answers and --out name the files");
  writeFileSync(
    out,
    prerender(readFileSync(index, "utf8"), JSON.parse(readFileSync(answers, "utf8"))),
  );
}
