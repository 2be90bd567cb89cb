// @ts-check
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { parseHTML } from "linkedom";

import { amount, named } from "../../static/format.js";
import { apply } from "../../static/state.js";
import { createCheck, summary, thin } from "../../static/widgets/check.js";

const INDEX = readFileSync(new URL("../../index.html", import.meta.url), "utf8");
const ANCHORS = ["GiB", "(ms): ", "vllm serve"];
const GIB = 2 ** 30;

const EMPTY = {
  recognised: { engine: null, engine_version: null, num_lines_read: 0 },
  request: {},
  rows: [],
  contradictions: [],
  findings: [],
  errors: [],
  measured: {},
  adopted: {},
  notes: [],
  anchors: ANCHORS,
};

const RUN = {
  ...EMPTY,
  recognised: { engine: "vllm", engine_version: "0.33.0", num_lines_read: 9 },
  request: { tensor_parallel_size: 2 },
  adopted: { tensor_parallel_size: 2, measured: { activation_bytes: GIB } },
  rows: [
    {
      figure: "available_kv_cache_bytes",
      predicted: 5 * GIB,
      measured: 6 * GIB,
      difference: GIB,
      unit: "bytes",
      because: "Because.",
      bounds: [4 * GIB, 7 * GIB],
      inside: true,
    },
    {
      figure: "kv_cache_size_tokens",
      predicted: null,
      measured: 36_896,
      difference: null,
      unit: "tokens",
      because: "<b>Nothing</b> to hold it against.",
      bounds: null,
      inside: null,
    },
  ],
  contradictions: [{ message: "These exclude each other." }],
  notes: [{ kind: "n", message: "A note." }],
  errors: [
    {
      text: "ValueError",
      meaning: "It means.",
      why: "It came.",
      remedies: [
        { label: "--max-num-seqs 64", changes: { max_num_seqs: 64 } },
        { label: "Restart the node", changes: {} },
      ],
    },
  ],
  measured: { activation_bytes: GIB },
};

const WATCH = {
  series: [
    { name: "Running", expr: "max(x)", settles_at: 4, high: null, unit: "requests", because: "." },
  ],
  rules: "groups:\n",
};

/** The panel with a core that answers as told; what it asked and what it changed. */
function open() {
  const { document, Event } = parseHTML(INDEX);
  Object.assign(globalThis, { document });
  /** @type {Changes[]} */
  const asked = [];
  /** @type {Changes[]} */
  const changed = [];
  const root = /** @type {any} */ (document.querySelector("#check"));
  Object.assign(root.querySelector("input"), { files: [] });
  const check = createCheck(
    root,
    (changes) => changed.push(changes),
    async (question) => {
      asked.push(question);
      if (question.ask === "watch") return { ok: true, result: WATCH };
      return { ok: true, result: question.text.trim() ? RUN : EMPTY };
    },
  );
  /** @param {Flat} flat @param {string} [panel] */
  const show = (flat, panel = "check") =>
    check(/** @type {any} */ ({ flat, page: { embed: false, panel } }));
  const settle = () => new Promise((done) => setTimeout(done, 20));
  /** @param {string} text */
  const type = async (text) => {
    root.querySelector("textarea").value = text;
    root.dispatchEvent(new Event("input"));
    await settle();
  };
  /** @param {string} label */
  const press = (label) =>
    [...root.querySelectorAll("button")].find((node) => node.textContent.includes(label)).click();
  return { root, asked, changed, show, settle, type, press };
}

test("only lines with an anchor are kept, and every line keeps its number", async () => {
  const text = "noise\nModel took 65.74 GiB\n\nMean TTFT (ms): 12\nnoise 2\nlast GiB";
  const thinned = await thin(new Blob([text]), ANCHORS);
  assert.deepEqual(thinned.split("\n"), [
    "",
    "Model took 65.74 GiB",
    "",
    "Mean TTFT (ms): 12",
    "",
    "last GiB",
  ]);
});

test("a text without any anchor leaves nothing but line ends", async () => {
  assert.equal("\n\n", await thin(new Blob(["a\nb\n"]), ANCHORS));
});

test("an anchor's letters are taken as they stand", async () => {
  assert.equal("\n", await thin(new Blob(["xmsy: z\n"]), ANCHORS));
});

test("a command that goes on behind a backslash stays whole", async () => {
  const text = "vllm serve m \\\n  --max-model-len 8192 \\\r\n  --enforce-eager\nnoise\n";
  const thinned = await thin(new Blob([text]), ANCHORS);
  assert.match(thinned, /--max-model-len 8192 .*--enforce-eager\n\n$/);
});

test("slices cut no line, wherever they fall", async () => {
  const line = `${"x".repeat(997)}\n`;
  const marked = `${"y".repeat(500)} 1 GiB ${"y".repeat(500)}`;
  for (const shift of [0, 300, 600, 997]) {
    const text = `${"z".repeat(shift)}\n${line.repeat(262)}${marked}\n${line.repeat(300)}`;
    const thinned = await thin(new Blob([text]), ANCHORS);
    assert.equal(marked, thinned.trim());
    assert.equal(text.split("\n").length, thinned.split("\n").length);
  }
});

test("nothing is asked before the panel is open, and once for each scenario then", async () => {
  const { asked, show, settle } = open();
  const flat = { tensor_parallel_size: 2 };
  show(flat, "");
  show(flat, "arithmetic");
  await settle();
  assert.equal(0, asked.length);
  show(flat);
  show(flat);
  await settle();
  assert.deepEqual(
    ["check_run", "check_run", "watch"],
    asked.map(({ ask }) => ask),
  );
  show({ tensor_parallel_size: 4 });
  await settle();
  assert.deepEqual(
    ["check_run", "watch"],
    asked.slice(3).map(({ ask }) => ask),
  );
});

test("a run stands beside its prediction, with raw values, ranges and reasons", async () => {
  const { root, show, type } = open();
  show({});
  await type("5 GiB");
  const [pool, tokens] = root.querySelector("tbody").children;
  const cells = [...pool.children].map((cell) => cell.textContent.trim());
  assert.deepEqual(["KV cache, GiB", "5.00 4.00 to 7.00", "6.00", "1.00", "Because."], cells);
  const data = pool.querySelector("[data-figure='available_kv_cache_bytes.measured']");
  assert.equal(String(6 * GIB), data.getAttribute("value"));
  const tones = [pool, tokens].map((row) => row.children[3].firstChild.className);
  assert.deepEqual(["good", ""], tones);
  assert.equal("–", tokens.children[1].textContent.trim());
  assert.equal(RUN.rows[1]?.because, tokens.children[4].textContent);
});

test("a line says what was recognised, and nothing where there is no text", async () => {
  const { root, show, type } = open();
  show({});
  await type("  ");
  const said = root.querySelector("[role=status]");
  assert.equal("", said.textContent);
  await type("5 GiB");
  assert.equal(
    "9 lines recognised · vLLM 0.33.0 · TP 2 · read here, sent nowhere",
    said.textContent,
  );
  assert.match(summary(/** @type {any} */ (EMPTY)), /^Nothing recognised: paste/);
  const one = { ...RUN, recognised: { ...RUN.recognised, num_lines_read: 1 } };
  assert.match(summary(/** @type {any} */ (one)), /^1 line recognised · /);
});

test("an error is explained, and only a cure within the scenario can be pressed", async () => {
  const { root, changed, show, type, press } = open();
  show({});
  await type("5 GiB");
  assert.match(root.textContent, /It means\.[\s\S]*It came\.[\s\S]*--max-num-seqs 64/);
  press("--max-num-seqs");
  assert.deepEqual([{ ...RUN.adopted, max_num_seqs: 64 }], changed);
  const outside = [...root.querySelectorAll("button")].find((node) =>
    node.textContent.includes("Restart"),
  );
  assert.equal(true, outside.disabled);
});

test("the run fills the scenario, or lends it its figures", async () => {
  const { changed, show, type, press } = open();
  show({});
  await type("5 GiB");
  press("Fill the scenario");
  press("Use the measured figures");
  assert.deepEqual([RUN.request, RUN.adopted], changed);
});

test("what would do nothing is not offered, and nothing settles in a run that failed", async () => {
  const { root, show, settle, type } = open();
  const hidden = () =>
    ["[data-act=fill]", "[data-act=adopt]", ".watch"].map(
      (part) => root.querySelector(part).hidden,
    );
  show({});
  await settle();
  assert.deepEqual([true, true, false], hidden());
  await type("5 GiB");
  assert.deepEqual([false, false, true], hidden());
});

test("figures of another run do not stay among those of this one", () => {
  const flat = {
    "measured.available_kv_cache_bytes": 5,
    "measured.total_bytes": 6,
    concurrency: 4,
  };
  assert.deepEqual(
    { concurrency: 4, "measured.activation_bytes": 7 },
    apply(flat, { measured: { activation_bytes: 7 } }, { ofTheModel: [], voids: {} }),
  );
});

test("what to watch is there without any run", async () => {
  const { root, show, settle } = open();
  show({});
  await settle();
  const row = root.querySelector("details tbody").children[0];
  assert.equal("4", row.children[1].textContent);
  assert.equal("–", row.children[2].textContent);
  assert.equal(WATCH.rules, root.querySelector("#rules").textContent);
});

test("every unit of the core has its writing", () => {
  const written = [
    [4.4766, "requests"],
    [0.686, "share"],
    [-0.25 * GIB, "bytes"],
    [36_896, "tokens"],
    [0, "per_second"],
    [1, "requests"],
  ].map(([value, unit]) => [amount(Number(value), String(unit)), named("N", String(unit))]);
  assert.deepEqual(
    [
      ["4.48", "N"],
      ["68.6 %", "N"],
      ["-0.25", "N, GiB"],
      ["36,896", "N"],
      ["0", "N per second"],
      ["1", "N"],
    ],
    written,
  );
});
