// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { readAddress, writeAddress } from "../../static/url.js";

const DEFAULTS = { model: "a-model", tensor_parallel_size: 2, max_model_len: 32768 };
const PLAIN = { embed: false, panel: "" };

/** @param {string} search */
const read = (search) => readAddress(search, DEFAULTS).flat;

test("the first scenario is an empty address", () => {
  assert.equal("", writeAddress(DEFAULTS, PLAIN, DEFAULTS));
  assert.deepEqual(DEFAULTS, read(""));
});

test("only what differs is written", () => {
  const flat = { ...DEFAULTS, tensor_parallel_size: 4 };
  assert.equal("?tensor_parallel_size=4", writeAddress(flat, PLAIN, DEFAULTS));
});

test("an empty value takes a field back to the engine's choice", () => {
  const { max_model_len: _, ...flat } = DEFAULTS;
  assert.equal("?max_model_len=", writeAddress(flat, PLAIN, DEFAULTS));
  assert.deepEqual(flat, read("?max_model_len="));
});

test("every scenario comes back from its address as it was", () => {
  const scenarios = [
    { ...DEFAULTS, gpu_memory_utilization: 0.95, enforce_eager: true },
    { ...DEFAULTS, engine_version: "0.33", dtype: "float16" },
    { ...DEFAULTS, "measured.total_bytes": 85_096_136_704, num_key_value_heads: 16 },
    { ...DEFAULTS, config: '{"architectures":["X"],"a":"&=?#% +\\"é"}' },
    { model: "a-model" },
  ];
  for (const flat of scenarios) {
    assert.deepEqual(flat, read(writeAddress(flat, PLAIN, DEFAULTS)));
  }
});

test("a version that looks like a number stays text", () => {
  assert.equal("0.33", read("?engine_version=0.33").engine_version);
  assert.equal("1", read("?model=1").model);
});

test("what is no value stays as it was typed, for the core to answer", () => {
  for (const typed of ["abc", "1e400", "-", "0x10", "١٢", "NaN", "00", `1${"0".repeat(40)}`]) {
    assert.equal(typed, read(`?tensor_parallel_size=${typed}`).tensor_parallel_size);
  }
});

test("negative numbers and fractions are numbers, which the core refuses by name", () => {
  assert.equal(-1, read("?tensor_parallel_size=-1").tensor_parallel_size);
  assert.equal(1.5, read("?tensor_parallel_size=1.5").tensor_parallel_size);
});

test("an unknown key reaches the core, and what others hang on a link does not", () => {
  assert.equal(4, read("?tensor_paralel_size=4").tensor_paralel_size);
  assert.deepEqual(DEFAULTS, read("?utm_source=x&fbclid=y"));
});

test("what concerns the page itself is no part of the scenario", () => {
  const { flat, page } = readAddress("?embed=1&panel=arithmetic", DEFAULTS);
  assert.deepEqual(DEFAULTS, flat);
  assert.deepEqual({ embed: true, panel: "arithmetic" }, page);
  assert.equal("?panel=arithmetic&embed=1", writeAddress(flat, page, DEFAULTS));
});
