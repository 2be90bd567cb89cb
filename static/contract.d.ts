// Written by `python3 build.py` from the core's dataclasses. Change those, not this.

/** A request: the fields of a scenario that are not as the engine would choose. */
export type Request = Partial<Scenario>;

export interface Failure {
  field: string;
  reason: string;
  message: string;
  choices?: string[];
}

export type Answer<Result> =
  | { ok: true; schema: number; napkin_version: string; result: Result }
  | { ok: false; failure: Failure };

/** One deployment to be sized. */
export interface Scenario {
  /** The question: size, knobs, frontier, model or catalogue. */
  ask: string;
  /** A model of the catalogue, by its id. */
  model: string | null;
  /** The text of a config.json, instead of a model of the catalogue. */
  config: string | null;
  /** The text of hf_quant_config.json, where a checkpoint has one. */
  hf_quant_config: string | null;
  /** Bytes of the checkpoint's files, to hold the computed weights against. */
  checkpoint_bytes: number | null;
  /** An accelerator of the catalogue, by its id. */
  accelerator: string | null;
  /** Memory of an accelerator that is not in the catalogue, as its driver reports it [bytes]. */
  accelerator_total_bytes: number | null;
  /** Accelerators that one node has. */
  accelerators_per_node: number | null;
  /** Memory that is free when the engine starts [bytes]. */
  accelerator_free_bytes: number | null;
  /** Ranks that share every layer. */
  tensor_parallel_size: number;
  /** Stages that the layers are dealt to. */
  pipeline_parallel_size: number;
  /** Replicas of the whole. */
  data_parallel_size: number;
  /** Ranks of the tensor-parallel group that share one request's tokens. */
  decode_context_parallel_size: number;
  /** Whole experts on each rank instead of a slice of each. */
  enable_expert_parallel: boolean;
  /** Element type of weights and activations. */
  dtype: string;
  /** Quantise the weights when loading; None keeps the checkpoint's own form. */
  quantization: string | null;
  /** Element type of the KV cache. */
  kv_cache_dtype: string;
  /** Element type of the state that Mamba layers keep. */
  mamba_ssm_cache_dtype: string;
  /** Tokens of one KV block. */
  block_size: number | null;
  /** Leave out a multimodal checkpoint's vision and audio towers. */
  language_model_only: boolean;
  /** The engine. */
  engine: string;
  /** The engine's version. */
  engine_version: string;
  /** Share of an accelerator's memory that the engine may use. */
  gpu_memory_utilization: number | null;
  /** The KV pool's size per GPU, instead of what profiling leaves [bytes]. */
  kv_cache_memory_bytes: number | null;
  /** Tokens of the longest request; "auto" lowers it to what fits. */
  max_model_len: number | string | null;
  /** Requests that are scheduled at once. */
  max_num_seqs: number | null;
  /** Tokens that one step processes. */
  max_num_batched_tokens: number | null;
  /** Do without CUDA graphs. */
  enforce_eager: boolean;
  /** Keep the KV blocks of past requests for reuse. */
  enable_prefix_caching: boolean;
  /** Size every layer's cache as if it kept all tokens. */
  disable_hybrid_kv_cache_manager: boolean;
  /** Tokens of a request's prompt. */
  input_tokens: number;
  /** Tokens that a request generates. */
  output_tokens: number;
  /** Requests that should be served at once, per replica. */
  concurrency: number;
  /** Whether the answer carries every figure's formula, inputs and source. */
  figures: boolean;
  /** Figures of a real run. */
  measured: Measured;
  /** The model's own numbers, changed: any field of its config.json under that field's name. */
  overrides: Record<string, unknown>;
}

/** The answer to ``size``. Bytes are of the rank that decides; null is what cannot be known. */
export interface SizeResult {
  verdict: "fits" | "tight" | "refused" | "does_not_fit";
  starts: boolean;
  reason: Record<string, unknown>;
  refusals: Refusal[];
  model_name: string;
  model_limit_tokens: number;
  num_accelerators: number;
  num_parameters: number;
  num_active_parameters: number;
  weights_bytes_per_rank: number | null;
  weights_bytes_by_stage: number[] | null;
  loaded_weights_bytes_per_rank: number | null;
  total_bytes: number;
  requested_bytes: number;
  activation_bytes: number | null;
  cuda_graph_bytes: number | null;
  non_torch_bytes: number | null;
  available_kv_cache_bytes: number | null;
  kv_cache_bytes_per_token_per_rank: number | number | null;
  block_size: number | null;
  kv_cache_bytes_per_block: number | null;
  num_gpu_blocks: number | null;
  max_model_len: number;
  kv_cache_size_tokens: number | null;
  kv_cache_max_concurrency: number | null;
  needed_kv_cache_bytes: number | null;
  estimated_max_model_len: number | null;
  longest_request_tokens: number | null;
  max_concurrency_for_workload: number | null;
  bounds: Record<string, [number, number]>;
  memory_by_stage: StageBar[];
  architecture: Record<string, unknown>;
  chosen: Record<string, unknown>;
  notes: (Record<string, string>)[];
  figures: Figure[] | null;
}

/** Figures of a real run that replace the estimated ones, all per GPU [bytes]. */
export interface Measured {
  /** What the engine reported after loading. */
  weights_bytes_per_rank: number | null;
  /** The activation peak of the profiling run. */
  activation_bytes: number | null;
  /** What the engine set aside for CUDA graphs. */
  cuda_graph_bytes: number | null;
  /** NCCL, cuBLAS and other memory outside the tensor library. */
  non_torch_bytes: number | null;
  /** What was left for the KV cache; replaces the whole budget. */
  available_kv_cache_bytes: number | null;
  /** The accelerator's memory as the driver reports it. */
  total_bytes: number | null;
}

/** One reason why the engine would not start. */
export interface Refusal {
  kind: string;
  message: string;
  field: string;
  choices: number[];
  remedies: (Record<string, unknown>)[];
}

/** One GPU of a pipeline stage, as the page draws it [bytes]. */
export interface StageBar {
  stage: number;
  num_ranks: number;
  total_bytes: number;
  budget_bytes: number;
  weights_bytes: number;
  cuda_graph_bytes: number;
  activation_bytes: number;
  non_torch_bytes: number;
  kv_cache_in_use_bytes: number;
  kv_cache_free_bytes: number;
  outside_budget_bytes: number;
  over_budget_bytes: number;
}

/** One figure of an answer, open to be checked by hand. */
export interface Figure {
  name: string;
  value: number | number;
  unit: string;
  formula: string;
  inputs: Record<string, unknown>;
  summary: string;
  source: string;
  basis: "exact" | "fitted" | "assumed";
}
