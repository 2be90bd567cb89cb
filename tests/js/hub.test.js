// @ts-check
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { fetchModel, HubError, isHubId } from "../../static/hub.js";

/** @typedef {{ status?: number, headers?: Record<string, string>, body?: string, isSlow?: boolean }} Reply */

const CONFIG = '{"architectures": ["LlamaForCausalLM"], "rope": NaN}';
/** What the hub answers, by path; anything else is a file that the repository lacks. @type {Record<string, Reply>} */
let replies = {};
/** @type {Reply} */
const MISSING = { status: 404, headers: { "x-error-code": "EntryNotFound" } };
/** @type {string[]} */
let asked = [];

const server = createServer((request, response) => {
  asked.push(request.url ?? "");
  const { status = 200, headers = {}, body = "", isSlow } = replies[request.url ?? ""] ?? MISSING;
  if (isSlow) return;
  response.writeHead(status, headers).end(body);
});
let base = "";

before(async () => {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(null)));
  base = `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (server.address()).port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

/** @param {Record<string, Reply>} next */
function hubSays(next) {
  replies = next;
  asked = [];
}

/** @param {string} kind @param {number} [seconds] */
const failure =
  (kind, seconds = 0) =>
  (/** @type {unknown} */ error) => {
    assert.ok(error instanceof HubError);
    assert.deepEqual([kind, seconds], [error.kind, error.seconds]);
    return true;
  };

test("the config's text comes as it is, even where it is no JSON to a browser", async () => {
  hubSays({ "/o/m/resolve/main/config.json": { body: CONFIG } });
  assert.deepEqual({ config: CONFIG }, await fetchModel("o/m", base));
});

test("the index says how many bytes the checkpoint has", async () => {
  hubSays({
    "/o/m/resolve/main/config.json": { body: CONFIG },
    "/o/m/resolve/main/model.safetensors.index.json": {
      body: '{"metadata": {"total_size": 141107412992}}',
    },
    "/api/models/o/m": { body: '{"safetensors": {"parameters": {"BF16": 1}}}' },
  });
  assert.equal(141_107_412_992, (await fetchModel("o/m", base)).checkpoint_bytes);
});

test("without an index the hub's count by dtype says it", async () => {
  hubSays({
    "/o/m/resolve/main/config.json": { body: CONFIG },
    "/api/models/o/m": {
      body: '{"safetensors": {"parameters": {"BF16": 10, "F8_E4M3": 3}, "total": 13}}',
    },
  });
  assert.equal(23, (await fetchModel("o/m", base)).checkpoint_bytes);
});

test("a dtype of unknown width makes no guess", async () => {
  hubSays({
    "/o/m/resolve/main/config.json": { body: CONFIG },
    "/api/models/o/m": { body: '{"safetensors": {"parameters": {"BF16": 10, "Q7": 3}}}' },
  });
  assert.ok(!("checkpoint_bytes" in (await fetchModel("o/m", base))));
});

test("hf_quant_config.json comes along where there is one", async () => {
  hubSays({
    "/o/m/resolve/main/config.json": { body: CONFIG },
    "/o/m/resolve/main/hf_quant_config.json": { body: '{"quantization": {}}' },
  });
  assert.equal('{"quantization": {}}', (await fetchModel("o/m", base)).hf_quant_config);
});

/** @type {[string, string, Reply][]} */
const REFUSALS = [
  ["a gated model, 401", "gated", { status: 401, headers: { "x-error-code": "GatedRepo" } }],
  ["a gated model, 403", "gated", { status: 403 }],
  [
    "a missing model, as the hub says it",
    "missing",
    { status: 401, headers: { "x-error-code": "RepoNotFound" } },
  ],
  ["a missing model, plainly", "missing", { status: 404 }],
  ["a repository without a config", "no_config", MISSING],
  ["a failing hub", "server", { status: 503 }],
  ["a sign-in page", "not_json", { body: "<!doctype html><title>Sign in</title>" }],
];
for (const [title, kind, reply] of REFUSALS) {
  test(`${title} is told apart`, async () => {
    hubSays({ "/o/m/resolve/main/config.json": reply });
    await assert.rejects(fetchModel("o/m", base), failure(kind));
  });
}

test("a rate limit says how long to wait, in seconds or until a date", async () => {
  const path = "/o/m/resolve/main/config.json";
  hubSays({ [path]: { status: 429, headers: { "retry-after": "17" } } });
  await assert.rejects(fetchModel("o/m", base), failure("rate_limited", 17));
  hubSays({ [path]: { status: 429 } });
  await assert.rejects(fetchModel("o/m", base), failure("rate_limited", 0));
  const date = new Date(Date.now() + 30_000).toUTCString();
  hubSays({ [path]: { status: 429, headers: { "retry-after": date } } });
  await assert.rejects(fetchModel("o/m", base), (/** @type {HubError} */ error) => {
    assert.ok(error.seconds > 27 && error.seconds <= 30);
    return true;
  });
});

test("no server is not the same as a slow one", async () => {
  await assert.rejects(fetchModel("o/m", "http://127.0.0.1:1"), failure("unreachable"));
  hubSays({ "/o/m/resolve/main/config.json": { isSlow: true } });
  await assert.rejects(fetchModel("o/m", base, AbortSignal.timeout(50)), failure("slow"));
});

test("only one model's files are asked for", async () => {
  hubSays({ "/o/m/resolve/main/config.json": { body: CONFIG } });
  await fetchModel("o/m", base);
  assert.ok(asked.every((path) => path.startsWith("/o/m/") || path === "/api/models/o/m"));
});

test("an id has an owner and a name", () => {
  assert.ok(isHubId("Qwen/Qwen3-32B"));
  for (const text of ["qwen3", "a/b/c", "a b/c", "https://x/y", "/x", "x/"])
    assert.ok(!isHubId(text), text);
});
