// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import * as format from "../../static/format.js";

test("GiB have two decimals, and thousands are set apart", () => {
  assert.equal("65.74", format.gib(70_588_581_120));
  assert.equal("1,024.00", format.gib(2 ** 40));
});

test("what a token takes is written in the unit that suits it", () => {
  assert.equal("160 KiB", format.bytes(163_840));
  assert.equal("2.50 MiB", format.bytes(2_621_440));
  assert.equal("20 GiB", format.bytes(21_474_836_480));
});

test("requests at once are never rounded up", () => {
  assert.equal("4.9", format.concurrency(4.999));
  assert.equal("175", format.concurrency(175.9));
  assert.equal("0.0", format.concurrency(0.06));
});

test("a count may be typed as people write it", () => {
  for (const typed of ["32768", "32,768", "32 768", "32_768", "32k", "32K"]) {
    assert.equal(32_768, format.readCount(typed), typed);
  }
  assert.equal(1_048_576, format.readCount("1M"));
});

test("what is no count stays as typed", () => {
  for (const typed of ["abc", "auto", "--1", "1e3", "k", `9${"9".repeat(20)}`]) {
    assert.equal(typed, format.readCount(typed));
  }
});

test("every number of bytes comes back from its GiB", () => {
  let seed = 12_345;
  const drawn = Array.from({ length: 500 }, () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed * 100 + (seed % 97);
  });
  for (const bytes of [0, 1, 6_045_166_469, 85_096_136_704, 2 ** 41 - 1, ...drawn]) {
    assert.equal(bytes, format.readGib(format.writeGib(bytes)));
  }
});

test("GiB are written no longer than they must be", () => {
  assert.equal("5.63", format.writeGib(6_045_166_469));
  assert.equal("80", format.writeGib(80 * 2 ** 30));
});

test("GiB may be typed with their unit, and other text stays", () => {
  assert.equal(2 ** 30, format.readGib("1 GiB"));
  assert.equal("lots", format.readGib("lots"));
});

test("dtypes are short in a sentence", () => {
  assert.deepEqual(
    ["bf16", "fp16", "fp32", "fp8", "float"],
    ["bfloat16", "float16", "float32", "fp8", "float"].map(format.shortDtype),
  );
});

test("parameters are written as people say them", () => {
  assert.deepEqual(
    ["70.6B", "494M", "1.03T", "8B"],
    [70_553_706_496, 494_032_768, 1.026e12, 8e9].map(format.parameters),
  );
});
