// @ts-check
/** Answers of the core's shape with small round numbers, for tests of what is drawn from them. */

const GIB = 2 ** 30;

/** A GPU of 100 GiB, of which the engine may use 90. @type {Stage} */
export const STAGE = {
  stage: 0,
  num_ranks: 2,
  total_bytes: 100 * GIB,
  budget_bytes: 90 * GIB,
  weights_bytes: 60 * GIB,
  cuda_graph_bytes: 2 * GIB,
  activation_bytes: 2 * GIB,
  non_torch_bytes: 1 * GIB,
  kv_cache_in_use_bytes: 15 * GIB,
  kv_cache_free_bytes: 10 * GIB,
  outside_budget_bytes: 10 * GIB,
  over_budget_bytes: 0,
};

/** @type {Result} */
export const RESULT = {
  verdict: "fits",
  starts: true,
  refusals: [],
  reason: { kind: "room_to_spare" },
  notes: [],
  model_name: "A-Model",
  model_limit_tokens: 131_072,
  num_parameters: 7e9,
  architecture: { num_hidden_layers: 80, num_key_value_heads: 8, tie_word_embeddings: false },
  chosen: {
    gpu_memory_utilization: 0.9,
    max_num_seqs: 256,
    max_model_len: 32_768,
    dtype: "bfloat16",
    quantization: null,
    kv_cache_dtype: "bfloat16",
    input_tokens: 3000,
    output_tokens: 1000,
    concurrency: 8,
    concurrency_per_replica: 8,
    engine_version: "0.33.0",
  },
  num_accelerators: 2,
  weights_bytes_per_rank: 60 * GIB,
  loaded_weights_bytes_per_rank: 60 * GIB,
  total_bytes: 100 * GIB,
  requested_bytes: 90 * GIB,
  available_kv_cache_bytes: 25 * GIB,
  kv_cache_bytes_per_token_per_rank: 163_840,
  kv_cache_bytes_for_workload: 4000 * 163_840,
  num_kv_heads_per_rank: 4,
  num_kv_head_replicas: 1,
  needed_kv_cache_bytes: 5 * GIB,
  max_model_len: 32_768,
  longest_request_tokens: 100_000,
  max_concurrency_for_workload: 40.96,
  bounds: {
    available_kv_cache_bytes: [24 * GIB, 26 * GIB],
    cuda_graph_bytes: [1 * GIB, 3 * GIB],
    longest_request_tokens: [96_000, 104_000],
  },
  memory_by_stage: [STAGE],
};

/** @type {KnobRow[]} */
const ROWS = [
  {
    field: "kv_cache_dtype",
    value: "fp8",
    label: "fp8",
    changes: { kv_cache_dtype: "fp8" },
    verdict: "fits",
    longest_request_tokens: 131_072,
    max_concurrency_for_workload: 81.92,
  },
  {
    field: "tensor_parallel_size",
    value: 1,
    label: "1",
    changes: { tensor_parallel_size: 1 },
    verdict: "does_not_fit",
    longest_request_tokens: null,
    max_concurrency_for_workload: null,
  },
];

/** @type {Frontier} */
const FRONTIER = {
  points: [
    { context_tokens: 1024, concurrency: 160 },
    { context_tokens: 100_000, concurrency: 1.6 },
  ],
  refused_beyond_tokens: 100_000,
  here: { context_tokens: 4000, concurrency: 40.96 },
};

/** @param {Partial<Result>} [changes] @returns {FirstAnswers} */
export function answers(changes = {}) {
  const request = { model: "a-model", accelerator: "a-gpu", tensor_parallel_size: 2 };
  return {
    request,
    size: { ok: true, result: { ...RESULT, ...changes } },
    knobs: { ok: true, result: { rows: ROWS } },
    frontier: { ok: true, result: FRONTIER },
    catalogue: {
      ok: true,
      result: {
        models: [
          {
            id: "a-model",
            name: "A-Model",
            hf_id: "o/A-Model",
            num_parameters: 7e9,
            summary: "80 layers",
          },
        ],
        accelerators: [
          {
            id: "a-gpu",
            name: "A GPU",
            vendor: "V",
            total_bytes: 100 * GIB,
            basis: "measured",
            known: true,
          },
          {
            id: "a-tpu",
            name: "A TPU",
            vendor: "W",
            total_bytes: null,
            basis: "assumed",
            known: false,
          },
        ],
        engine_versions: ["0.33.0", "0.31.0"],
        kv_cache_dtypes: ["auto", "bfloat16", "fp8"],
        quantizations: ["fp8"],
        examples: [
          { name: "Four", summary: "of them", request: { ...request, tensor_parallel_size: 4 } },
        ],
        voids: {},
        defaults: request,
      },
    },
  };
}
