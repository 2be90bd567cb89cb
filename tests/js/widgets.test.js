// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { pretty, putIn } from "../../static/widgets/arithmetic.js";
import { rounded, splitLike } from "../../static/widgets/frontier.js";
import { RESULT } from "./answers.js";

/** @param {string} formula @param {Record<string, unknown>} inputs @returns {Figure} */
const shown = (formula, inputs) => ({
  name: "f",
  value: 1,
  unit: "bytes",
  formula,
  inputs,
  summary: "",
  source: "",
  basis: "exact",
});

test("a formula is written as on paper", () => {
  assert.equal("a × b ÷ c − d ^ 2", pretty("a * b // c - d ** 2"));
});

test("numbers stand where their names stood, and nowhere else", () => {
  const filled = putIn(
    shown("layers * 2 * max(1, kv_heads // tp) * layers_extra", { layers: 80, kv_heads: 8, tp: 2 }),
  );
  assert.equal("80 × 2 × max(1, 8 ÷ 2) × layers_extra", filled);
});

test("a name that every object has is still a name", () => {
  assert.equal("constructor × 3", putIn(shown("constructor * n", { n: 3 })));
});

test("a moved request keeps its share of prompt and answer", () => {
  for (const total of [256, 1000, 4096, 100_000]) {
    const { input_tokens, output_tokens } = splitLike(RESULT, total);
    assert.equal(total, input_tokens + output_tokens);
    assert.ok(Math.abs(input_tokens / total - 0.75) < 0.01);
  }
});

test("a request with a prompt and an answer keeps both, however short", () => {
  const lopsided = {
    ...RESULT,
    chosen: { ...RESULT.chosen, input_tokens: 100_000, output_tokens: 1 },
  };
  assert.deepEqual({ input_tokens: 255, output_tokens: 1 }, splitLike(lopsided, 256));
});

test("a dragged length is one that people would type", () => {
  assert.deepEqual([8192, 8192, 8704, 131_072], [8100, 8300, 8700, 130_000].map(rounded));
  for (let tokens = 300; tokens < 200_000; tokens = Math.ceil(tokens * 1.37)) {
    assert.ok(Math.abs(rounded(tokens) / tokens - 1) < 1 / 30, String(tokens));
  }
});
