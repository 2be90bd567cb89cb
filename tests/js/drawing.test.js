// @ts-check
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { parseHTML } from "linkedom";

import { prerender } from "../../static/prerender.js";
import { toMarkdown } from "../../static/widgets/share.js";
import { answers, RESULT, STAGE } from "./answers.js";

const INDEX = readFileSync(new URL("../../index.html", import.meta.url), "utf8");
const GIB = 2 ** 30;
/** @type {Remedy} */
const REMEDY = {
  label: "TP 4",
  changes: { tensor_parallel_size: 4 },
  verdict: "fits",
  longest_request_tokens: 131_072,
  max_concurrency_for_workload: 2,
  num_accelerators: 4,
};

/** @param {FirstAnswers} [given] @returns {any} the document */
const draw = (given = answers()) => parseHTML(prerender(INDEX, given)).document;

/** @param {Partial<Result>} changes */
const drawResult = (changes) => draw(answers(changes));

/** @param {any} node @param {string} name */
const share = (node, name) => Number(node.getAttribute(name).replace("%", ""));

/** @param {any} document @param {string} name */
const figure = (document, name) => document.querySelector(`main data[data-figure="${name}"]`);

test("every figure carries its raw value", () => {
  const document = draw();
  for (const name of /** @type {const} */ ([
    "longest_request_tokens",
    "max_concurrency_for_workload",
    "total_bytes",
  ])) {
    assert.equal(String(RESULT[name]), figure(document, name).getAttribute("value"));
  }
  assert.equal("fits", figure(document, "verdict").getAttribute("value"));
  assert.equal("100,000", figure(document, "longest_request_tokens").textContent);
});

test("no figure is shown without a value unless the answer has none", () => {
  for (const node of draw().querySelectorAll("main data[data-figure]")) {
    assert.ok(node.getAttribute("value") || ["", "–"].includes(node.textContent), node.outerHTML);
  }
});

test("a figure that the answer does not have is a dash", () => {
  const longest = figure(drawResult({ longest_request_tokens: null }), "longest_request_tokens");
  assert.deepEqual(["", "–"], [longest.getAttribute("value"), longest.textContent]);
});

test("the sentence shows the scenario, and the engine's own choice where nothing was said", () => {
  const document = draw();
  /** @param {string} name */
  const shown = (name) => document.querySelector(`[name=${name}]`).nextElementSibling.textContent;
  assert.equal("A-Model", shown("model"));
  assert.equal("A GPU", shown("accelerator"));
  assert.equal("TP 2", shown("tensor_parallel_size"));
  assert.equal("32,768 tokens", shown("max_model_len"));
  assert.equal("bf16", shown("quantization"));
  assert.equal("vLLM 0.33", shown("engine_version"));
});

test("an accelerator that cannot be sized cannot be chosen, and says so", () => {
  const option = draw().querySelector("option[value=a-tpu]");
  assert.match(option.textContent, /not sized yet/);
  assert.ok(option.hasAttribute("disabled"));
});

test("the examples are links that differ from the first scenario only where they do", () => {
  assert.equal("?tensor_parallel_size=4", draw().querySelector("#examples a").getAttribute("href"));
});

test("each GPU has a bar, whose parts follow one another", () => {
  const bars = draw().querySelectorAll(".bar");
  assert.equal(2, bars.length);
  let end = 0;
  for (const part of [...bars[0].querySelectorAll("rect")].slice(0, 6)) {
    assert.equal(end, share(part, "x"));
    end += share(part, "width");
  }
  assert.equal(90, end);
  assert.equal(90, share(bars[0].querySelector(".budget-line"), "x1"));
});

test("many GPUs that are alike share one bar", () => {
  const stage = { ...STAGE, num_ranks: 16 };
  const document = drawResult({ memory_by_stage: [stage] });
  assert.equal(1, document.querySelectorAll(".bar").length);
  assert.match(document.querySelector(".gpu").textContent, /16 GPUs/);
});

test("stages that differ have a bar each, and their table for all to see", () => {
  const stages = [0, 1].map((stage) => ({
    ...STAGE,
    stage,
    num_ranks: 8,
    weights_bytes: (50 + stage) * GIB,
  }));
  const document = drawResult({ memory_by_stage: stages });
  assert.equal(2, document.querySelectorAll(".bar").length);
  assert.ok(document.querySelector("#bars .scroll table"));
  assert.equal("51.00", figure(document, "memory_by_stage.1.weights_bytes").textContent);
});

test("the bars' table says every part of every stage", () => {
  const cells = [...draw().querySelectorAll("#bars tbody data")];
  const said = cells.map((cell) => Number(cell.getAttribute("value")) / GIB);
  assert.deepEqual([60, 2, 2, 1, 15, 10, 10, 0], said);
});

test("what exceeds the budget is drawn beyond it, even beyond the GPU", () => {
  /** @type {Stage} */
  const stage = {
    ...STAGE,
    weights_bytes: 195 * GIB,
    kv_cache_in_use_bytes: 0,
    kv_cache_free_bytes: 0,
    over_budget_bytes: 110 * GIB,
  };
  const document = drawResult({ verdict: "does_not_fit", memory_by_stage: [stage] });
  const over = document.querySelector(".bar .over");
  assert.deepEqual([45, 55], [share(over, "x"), share(over, "width")]);
  assert.equal(50, share(document.querySelector(".total-line"), "x1"));
  assert.ok(!document.querySelector(".total-line").hasAttribute("hidden"));
  assert.ok(document.querySelector(".soft").hasAttribute("hidden"));
});

test("the estimate's bounds are a soft edge where the KV pool begins", () => {
  const soft = draw().querySelector(".bar .soft");
  assert.deepEqual([64, 2], [share(soft, "x"), share(soft, "width")]);
  const sharp = drawResult({ bounds: {} }).querySelector(".bar .soft");
  assert.ok(sharp.hasAttribute("hidden"));
});

test("a refusal shows the engine's words and a button for each cure", () => {
  const shorter = { ...REMEDY, label: "--max-model-len 9", changes: { max_model_len: 9 } };
  const short = { ...REMEDY, label: "fp8 KV", verdict: /** @type {const} */ ("refused") };
  const document = drawResult({
    verdict: "refused",
    reason: { kind: "kv_cache_too_small" },
    refusals: [
      {
        kind: "kv_cache_too_small",
        message: "ValueError: <b>no</b>",
        choices: [],
        remedies: [REMEDY, shorter, short],
      },
    ],
  });
  assert.equal("ValueError: <b>no</b>", document.querySelector(".error").textContent);
  assert.deepEqual(
    [
      "TP 4 holds 131,072 tokens, 2.0 at once on 4 GPUs",
      "--max-model-len 9 starts, 2.0 at once",
      "fp8 KV alone is not enough",
    ],
    [...document.querySelectorAll(".cures button")].map((button) => button.textContent),
  );
  assert.match(document.querySelector("#reason").textContent, /needs 5.00 GiB of KV/);
});

test("what is refused before anything is sized has neither bars nor curve, and no number", () => {
  const nothing = Object.fromEntries(
    Object.entries(RESULT).map(([name, value]) => [name, typeof value === "number" ? null : value]),
  );
  const refusals = [{ kind: "indivisible_heads", message: "64", choices: [1, 2], remedies: [] }];
  const changes = {
    ...nothing,
    verdict: /** @type {const} */ ("refused"),
    refusals,
    bounds: {},
    memory_by_stage: [],
  };
  const given = answers(changes);
  given.frontier.result = { points: [], refused_beyond_tokens: null, here: null };
  const document = draw(given);
  assert.doesNotMatch(document.querySelector("main").textContent, /NaN|undefined|null/);
  assert.match(document.querySelector("#verdict").textContent, /Would do: 1, 2/);
  for (const id of ["bars", "frontier"])
    assert.ok(document.getElementById(id).hasAttribute("hidden"));
});

test("an unknown reason still says something true", () => {
  const document = drawResult({ verdict: "refused", reason: { kind: "something_new" } });
  assert.match(document.querySelector("#reason").textContent, /refuses/);
});

test("a knob's row says what the change buys, or that it does not start", () => {
  const rows = [...draw().querySelectorAll("#knobs tbody tr")].map((row) =>
    row.textContent.replace(/\s+/g, " "),
  );
  assert.deepEqual(
    ["--kv-cache-dtypefp8131,072 card limit81.9", "--tensor-parallel-size1 does not fit–"],
    rows,
  );
});

test("the point of the frontier is a slider with its value in words", () => {
  const point = draw().querySelector(".point");
  assert.equal("slider", point.getAttribute("role"));
  assert.equal("4000", point.getAttribute("aria-valuenow"));
  assert.equal("40.9 requests at 4,000", point.getAttribute("aria-valuetext"));
});

test("what the page needs of the catalogue is in it", () => {
  const kept = JSON.parse(draw().querySelector("#first-answers").textContent);
  assert.deepEqual(["models", "voids"], Object.keys(kept.catalogue.result));
});

test("the answers are in the page, and no text in them can end their block", () => {
  const document = draw(answers({ model_name: "</script><script>alert(1)</script>" }));
  const kept = JSON.parse(document.querySelector("#first-answers").textContent);
  assert.equal("</script><script>alert(1)</script>", kept.size.result.model_name);
  assert.ok(
    ![...document.querySelectorAll("script")].some((script) => script.textContent === "alert(1)"),
  );
});

test("drawing again from the drawn page changes nothing", () => {
  const once = prerender(INDEX, answers());
  const twice = prerender(once.replace(/<script[^>]*first-answers.*?<\/script>/s, ""), answers());
  assert.equal(once, twice);
});

test("Markdown has the verdict's figures, the engine's words and the link", () => {
  const message = "ValueError: a|b\nc";
  const refused = { refusals: [{ kind: "k", message, choices: [], remedies: [REMEDY] }] };
  const text = toMarkdown(
    drawResult(refused),
    { ...RESULT, ...refused },
    "https://example.org/?x=1",
  );
  assert.match(text, /\| Longest single request \| 100,000 tokens \|/);
  assert.match(text, /\| 96,000 to 104,000 by estimate; model card says 131,072 \|/);
  assert.match(text, /\n {4}ValueError: a\|b\n {4}c\n\n- TP 4 holds 131,072 tokens, 2.0 at once/);
  assert.match(
    text,
    /each GPU: weights 60.00; CUDA graphs 2.00 \(1.00 to 3.00\); activations 2.00;/,
  );
  assert.match(text, /\[Napkin\]\(https:\/\/example.org\/\?x=1\)$/);
});

test("where the plain formula misleads, the page says by how much and why", () => {
  const plain_formula = { needed_bytes: 62 * GIB, times_the_engines: 3.4, because: ["Windows."] };
  const text = drawResult({ plain_formula }).querySelector("#verdict").textContent;
  assert.match(text, /says 62.00 GiB for one request of max_model_len, ×3.4 what the engine takes/);
  assert.match(text, /Windows\./);
  assert.ok(draw().querySelector("#plain").hasAttribute("hidden"));
});
