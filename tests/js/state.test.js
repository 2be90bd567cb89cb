// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { apply, createStore, flatten, isSame, nest } from "../../static/state.js";

const WEIGHTS = ["weights_bytes_per_rank"];
const TIES = {
  ofTheModel: ["num_key_value_heads"],
  voids: { config: WEIGHTS, tensor_parallel_size: WEIGHTS },
};
const turn = () => new Promise((resolve) => setTimeout(resolve));

test("flattening and nesting are each other's reverse", () => {
  const request = {
    model: "m",
    enforce_eager: false,
    measured: { total_bytes: 1, activation_bytes: 0 },
  };
  const flat = {
    model: "m",
    enforce_eager: false,
    "measured.total_bytes": 1,
    "measured.activation_bytes": 0,
  };
  assert.deepEqual(flat, flatten(request));
  assert.deepEqual(request, nest(flat));
});

test("a null is left out, and a config as an object becomes its text", () => {
  assert.deepEqual({ config: '{"a":1}' }, flatten({ model: null, config: { a: 1 } }));
});

test("a config goes before the catalogue's model, which stays known", () => {
  const flat = apply({ model: "m" }, { config: "{}" }, TIES);
  assert.deepEqual({ config: "{}" }, nest(flat));
  assert.equal("m", flat.model);
});

test("a memory size goes before the catalogue's accelerator until one is chosen again", () => {
  const own = apply({ accelerator: "a" }, { accelerator_total_bytes: 5 }, TIES);
  assert.deepEqual({ accelerator_total_bytes: 5 }, nest(own));
  assert.deepEqual({ accelerator: "b" }, nest(apply(own, { accelerator: "b" }, TIES)));
  const cleared = apply(own, { accelerator_total_bytes: null }, TIES);
  assert.deepEqual({ accelerator: "a" }, nest(cleared));
});

test("a measured term goes with what it was measured under", () => {
  const before = { "measured.weights_bytes_per_rank": 1, "measured.total_bytes": 2 };
  const kept = { "measured.total_bytes": 2 };
  for (const change of [{ tensor_parallel_size: 4 }, { num_key_value_heads: 4 }])
    assert.deepEqual({ ...kept, ...change }, apply(before, change, TIES));
  assert.deepEqual({ ...before, concurrency: 9 }, apply(before, { concurrency: 9 }, TIES));
});

test("another model keeps the deployment and drops the old model's own numbers", () => {
  const before = {
    model: "m",
    config: "{}",
    checkpoint_bytes: 9,
    num_key_value_heads: 16,
    tensor_parallel_size: 4,
  };
  assert.deepEqual({ model: "n", tensor_parallel_size: 4 }, apply(before, { model: "n" }, TIES));
});

test("null takes a field back to what the engine would choose", () => {
  assert.deepEqual(
    { model: "m" },
    apply({ model: "m", block_size: 32 }, { block_size: null }, TIES),
  );
});

test("two scenarios are the same whatever the order of their fields", () => {
  assert.ok(isSame({ a: 1, b: 2 }, { b: 2, a: 1 }));
  assert.ok(!isSame({ a: 1 }, { a: 1, b: 2 }));
  assert.ok(!isSame({ a: 1, b: 2 }, { a: 1 }));
});

test("changes of one turn are told once, with the last state", async () => {
  /** @type {[Flat, Gesture][]} */
  const told = [];
  const store = createStore({ a: 1 }, TIES, (flat, gesture) => told.push([flat, gesture]));
  store.change({ a: 2 }, "live");
  store.change({ b: 3 }, "commit");
  store.change({ b: 4 }, "live");
  await turn();
  assert.deepEqual([[{ a: 2, b: 4 }, "commit"]], told);
});

test("a later turn is told again", async () => {
  /** @type {Gesture[]} */
  const told = [];
  const store = createStore({}, TIES, (_, gesture) => told.push(gesture));
  store.change({ a: 1 }, "live");
  await turn();
  store.change({ a: 2 }, "history");
  await turn();
  assert.deepEqual(["live", "history"], told);
});
