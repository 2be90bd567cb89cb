// @ts-check
/** Which words the answer calls for; most are in index.html. */

import { phrase } from "./dom.js";
import { concurrency, count, megabytes, plural } from "./format.js";

/** @param {Result} result */
export const workloadTokens = ({ chosen }) =>
  Number(chosen.input_tokens) + Number(chosen.output_tokens);

/** @param {View} view @returns {Record<string, string>} */
export function slots(view) {
  const { result, knobs, core } = view;
  const length = count(workloadTokens(result));
  const kv = knobs.rows.find(({ field }) => field === "kv_cache_dtype");
  const held = kv?.max_concurrency_for_workload;
  return {
    notice: notice(view),
    loading: loading(core),
    length,
    load: `${result.chosen.concurrency_per_replica} × ${length}`,
    held: `at once${Number(view.flat.data_parallel_size) > 1 ? " on each replica" : ""}`,
    fp8:
      held && held !== result.max_concurrency_for_workload
        ? `${concurrency(held)} with ${kv.value} KV`
        : "",
    refusal: result.refusals[0]?.message.split(/(?<=\.)\s/)[0] ?? "",
    heads: kvHeads(result),
  };
}

/** @param {Result} result */
function kvHeads({ num_kv_heads_per_rank: kept, num_kv_head_replicas: copies, architecture }) {
  const heads = architecture.num_key_value_heads;
  if (!kept || !copies) return "";
  if (copies > 1) return `${heads} KV heads, each on ${plural(copies, "GPU")}`;
  return kept === heads ? `${heads} KV heads` : `${heads} KV heads → ${kept} per GPU`;
}

/** @param {View} view */
function notice({ standing, result, core }) {
  if (standing === "current") return "";
  const isPrepared = standing === "prepared" && core.state !== "ready";
  const kind = isPrepared ? (core.state === "starting" ? "awaited" : "prepared") : "older";
  return phrase(kind, { model: result.model_name, gpus: plural(result.num_accelerators, "GPU") });
}

/** @param {View["core"]} core */
function loading({ state, detail, loadedBytes, totalBytes }) {
  if (state === "" || state === "ready") return "";
  const isLoaded = totalBytes > 0 && loadedBytes >= totalBytes;
  const isHalted = state === "stalled" && detail !== "loading";
  const kind = isHalted ? "halted" : state === "starting" && isLoaded ? "started" : state;
  return phrase(kind, { detail, loaded: megabytes(loadedBytes), total: megabytes(totalBytes) });
}
