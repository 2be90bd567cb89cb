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
  /** The question: size, knobs, frontier, model, catalogue, check_run or watch. */
  ask: string;
  /** A pasted log, /metrics page, load report, nvidia-smi output or error, for check_run. */
  text: string | null;
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
  /** Quantise the weights when loading; null: the checkpoint's own form. */
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
  /** Keep the KV blocks of past requests for reuse; null: as the version does for the model. */
  enable_prefix_caching: boolean | null;
  /** Size every layer's cache as if it kept all tokens. */
  disable_hybrid_kv_cache_manager: boolean;
  /** Tokens of a request's prompt. */
  input_tokens: number;
  /** Tokens that a request generates. */
  output_tokens: number;
  /** Requests that should be served at once, over all replicas. */
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
  /** fits, tight (starts, but short of the concurrency asked for or of a tenth of the GPU), refused, or does_not_fit. */
  verdict: "fits" | "tight" | "refused" | "does_not_fit";
  /** Whether the engine starts. */
  starts: boolean;
  /** Why the verdict is what it is: a kind (see below), and the numbers that decided. */
  reason: Record<string, unknown>;
  /** Why the engine would not start, each in its own words, with single changes that cure it. */
  refusals: Refusal[];
  /** The model's name, or its class where only a config was given. */
  model_name: string;
  /** The longest request that the model was made for [tokens]. */
  model_limit_tokens: number;
  /** GPUs of all stages and replicas: TP × PP × DP. */
  num_accelerators: number;
  /** Parameters of the whole model, as its card counts them. */
  num_parameters: number;
  /** Parameters that one token passes through. */
  num_active_parameters: number;
  /** Parameters and buffers of the largest rank, as created [bytes]. */
  weights_bytes_per_rank: number | null;
  /** The same for the largest rank of each pipeline stage [bytes]. */
  weights_bytes_by_stage: number[] | null;
  /** What the engine reports after loading; the budget uses it [bytes]. */
  loaded_weights_bytes_per_rank: number | null;
  /** The GPU's memory as its driver reports it [bytes]. */
  total_bytes: number;
  /** What the engine may use of it [bytes]. */
  requested_bytes: number;
  /** The activation peak of the profiling run; estimated [bytes]. */
  activation_bytes: number | null;
  /** What CUDA graphs take; estimated [bytes]. */
  cuda_graph_bytes: number | null;
  /** NCCL, cuBLAS and other memory outside the tensor library; estimated [bytes]. */
  non_torch_bytes: number | null;
  /** What is left for the KV cache on the stage that has least [bytes]. */
  available_kv_cache_bytes: number | null;
  /** What one more token of a long request takes on each GPU; an average, so not always whole [bytes]. */
  kv_cache_bytes_per_token_per_rank: number | number | null;
  /** Key-value heads that one GPU keeps of a layer; null without such heads, or where TP does not deal them out. */
  num_kv_heads_per_rank: number | null;
  /** GPUs of a replica that keep the same key-value head. */
  num_kv_head_replicas: number | null;
  /** Tokens of one KV block. */
  block_size: number | null;
  /** What one request of input_tokens + output_tokens takes on each GPU [bytes]. */
  kv_cache_bytes_for_workload: number | null;
  /** Bytes of one KV block of all layers, on the stage where it is largest. */
  kv_cache_bytes_per_block: number | null;
  /** Blocks of the pool, on the stage that has fewest; null where the engine refuses. */
  num_gpu_blocks: number | null;
  /** The longest request that is served [tokens]. */
  max_model_len: number;
  /** What the engine prints as its KV cache size [tokens]; null where it refuses. */
  kv_cache_size_tokens: number | null;
  /** What the engine prints as its maximum concurrency at max_model_len; null where it refuses. */
  kv_cache_max_concurrency: number | null;
  /** What one request of max_model_len takes [bytes]. */
  needed_kv_cache_bytes: number | null;
  /** The longest request that the engine says would fit, never above max_model_len [tokens]. */
  estimated_max_model_len: number | null;
  /** The longest request that would fit, searched on to the model's own limit [tokens]. */
  longest_request_tokens: number | null;
  /** Requests of input_tokens + output_tokens that one replica holds at once, no more than max_num_seqs. */
  max_concurrency_for_workload: number | null;
  /** The range, low and high, of every estimated figure and of what follows from it, by its name. */
  bounds: Record<string, [number, number]>;
  /** One GPU of each pipeline stage, in the parts that a bar is drawn from. */
  memory_by_stage: StageBar[];
  /** The model's own numbers under Hugging Face's names; a request may override each. */
  architecture: Record<string, unknown>;
  /** Fields that the config leaves out, with the value that transformers itself would use. */
  defaulted: Record<string, unknown>;
  /** What every choice that was left to the engine became. */
  chosen: Record<string, unknown>;
  /** What a reader should know before trusting the figures. */
  notes: Note[];
  /** What the plain formula would say of one longest request, where it is off, and why. */
  plain_formula: PlainFormula | null;
  /** Every figure's formula, inputs, source and basis; only when the request asks for them. */
  figures: Figure[] | null;
}

/** The answer to ``knobs``. */
export interface Knobs {
  /** One change each from here; those that move nothing are left out. */
  rows: KnobRow[];
}

/** The answer to ``frontier``: the curve, where it ends, and where the scenario stands on it. */
export interface Frontier {
  /** From 1,024 tokens to the longest request; none where the engine would not start. */
  points: Point[];
  /** The longest request that fits; null where the engine refuses whatever the length. */
  refused_beyond_tokens: number | null;
  /** The scenario's own workload; null where there is no curve. */
  here: Point | null;
}

/** The answer to ``model``: what Napkin reads in a config.json. */
export interface ModelRead {
  /** The model's name, or its class where only a config was given. */
  model_name: string;
  /** The class that the engine runs. */
  model_type: string;
  /** The model's own numbers under Hugging Face's names; a request may override each. */
  architecture: Record<string, unknown>;
  /** The fields that the config was read for: all that is needed to ask again. */
  config: Record<string, unknown>;
  /** Parameters of the whole model, as its card counts them. */
  num_parameters: number;
  /** Parameters that one token passes through. */
  num_active_parameters: number;
  /** Fields that the config leaves out, with the value that transformers itself would use. */
  defaulted: Record<string, unknown>;
}

/** The answer to ``catalogue``: what a request may name. */
export interface Catalogue {
  /** The models that can be sized. */
  models: ModelEntry[];
  /** The accelerators, also those that cannot be sized. */
  accelerators: AcceleratorEntry[];
  /** The engine's versions, the newest first. */
  engine_versions: string[];
  /** What ``kv_cache_dtype`` may be. */
  kv_cache_dtypes: string[];
  /** What ``quantization`` may be. */
  quantizations: string[];
  /** Well-known deployments: a name, a summary, the request and its source. */
  examples: (Record<string, unknown>)[];
  /** The request that the page begins with. */
  defaults: Record<string, unknown>;
  /** For each field of a request: the ``measured`` terms that no longer hold once it changes. */
  voids: Record<string, string[]>;
}

/** The answer to ``check_run``. */
export interface CheckRun {
  /** What was found in the text. */
  recognised: RecognisedText;
  /** The scenario's fields that the text tells; null only where a field must give way to one. */
  request: Record<string, unknown>;
  /** Predicted beside measured, in the order of the budget. */
  rows: CheckRow[];
  /** Figures that cannot all be true. */
  contradictions: Contradiction[];
  /** What the run's figures say of its limits. */
  findings: Contradiction[];
  /** The errors in the text, explained; causes before consequences. */
  errors: Explanation[];
  /** The run's own terms, to be adopted as the request's ``measured``. */
  measured: Record<string, number>;
  /** Those of them that the text does not print: only their sum is known, from the pool. */
  derived: string[];
  /** What to add to the request to ask anything else of this run; empty if nothing was read. */
  adopted: Record<string, unknown>;
  /** What a reader should know before trusting the comparison. */
  notes: Note[];
  /** A line that holds none of these is never read: a large file can be thinned out by them. */
  anchors: string[];
}

/** The answer to ``watch``. */
export interface Watch {
  /** Whether the engine starts at all; nothing settles where it does not. */
  starts: boolean;
  /** What to plot, and where it should settle. */
  series: Series[];
  /** What to be woken by. */
  alerts: Alert[];
  /** The alerts as a Prometheus rule file. */
  rules: string;
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
  /** Which rule was broken, as one word of the contract. */
  kind: "indivisible_heads" | "indivisible_kv_heads" | "unaligned_quantised_shard" | "indivisible_other" | "context_parallel" | "pipeline_parallel" | "too_many_accelerators" | "weights_exceed_budget" | "no_memory_for_kv_cache" | "kv_cache_too_small" | "free_memory_too_small" | "max_model_len_above_model" | "batched_tokens_too_small" | "dtype_not_on_accelerator" | "quantisation_not_on_accelerator" | "unsupported_quantisation" | "no_attention_backend" | "unsupported_architecture";
  /** The engine's own words, with this scenario's numbers. */
  message: string;
  /** The request's key that the rule is about. */
  field: string;
  /** Values of that key which the rule accepts. */
  choices: number[];
  /** Single changes with which the engine starts, cheapest first; see below what none means. */
  remedies: Remedy[];
}

/** One GPU of a pipeline stage, as the page draws it [bytes]. */
export interface StageBar {
  /** The pipeline stage, from 0. */
  stage: number;
  /** GPUs of this stage in one replica; each looks like this one. */
  num_ranks: number;
  /** The GPU's memory as its driver reports it [bytes]. */
  total_bytes: number;
  /** What the engine may use: utilisation times total [bytes]. */
  budget_bytes: number;
  /** Weights as loaded [bytes]. */
  weights_bytes: number;
  /** What CUDA graphs take; estimated [bytes]. */
  cuda_graph_bytes: number;
  /** The activation peak of the profiling run; estimated [bytes]. */
  activation_bytes: number;
  /** NCCL, cuBLAS and other memory outside the tensor library; estimated [bytes]. */
  non_torch_bytes: number;
  /** What the workload's requests take when all are at their full length [bytes]. */
  kv_cache_in_use_bytes: number;
  /** The rest of the KV pool [bytes]. */
  kv_cache_free_bytes: number;
  /** What the engine leaves alone [bytes]. */
  outside_budget_bytes: number;
  /** By how much the fixed terms exceed the budget; 0 where they fit [bytes]. */
  over_budget_bytes: number;
}

/** One thing to know before trusting the figures. */
export interface Note {
  /** Which thing, as one word. */
  kind: "assumed_total_bytes" | "assumed_generation" | "rocm_kernels" | "reconstructed_config" | "defaulted_fields" | "overrides_without_effect" | "quantization_ignored" | "version_not_established" | "older_cache_layout" | "workload_longer_than_max_model_len" | "checkpoint_disagrees" | "warm_up_outside_budget" | "may_be_refused" | "nothing_to_hold_it_against" | "cannot_be_sized" | "other_engine" | "setting_not_used" | "model_taken" | "model_not_known" | "several_accelerators" | "accelerator_by_memory" | "accelerator_not_known" | "version_not_known" | "not_the_scenario" | "terms_not_printed" | "scenario_assumed" | "refusal_expected";
  /** A sentence with this scenario's numbers. */
  message: string;
}

/** What the plain formula would say, against what the engine takes. */
export interface PlainFormula {
  /** One request of max_model_len by the plain formula [bytes]. */
  needed_bytes: number;
  /** That over needed_kv_cache_bytes: above 1 the plain formula asks for too much memory. */
  times_the_engines: number;
  /** What this model's layers keep instead, a sentence each. */
  because: string[];
}

/** One figure of an answer, open to be checked by hand. */
export interface Figure {
  /** The formula's name; where the result has a field of that name, its value. */
  name: string;
  /** What the formula gives. */
  value: number | number;
  /** bytes, tokens, blocks, requests or heads. */
  unit: string;
  /** The expression, in the names of its inputs. */
  formula: string;
  /** The numbers that went in. */
  inputs: Record<string, unknown>;
  /** What it is, and why where that surprises. */
  summary: string;
  /** Where the rule comes from. */
  source: string;
  /** exact (arithmetic on published facts), fitted (a constant of real runs) or assumed. */
  basis: "exact" | "fitted" | "assumed";
}

/** What one change buys. */
export interface KnobRow {
  /** The request's key that is changed. */
  field: string;
  /** Its new value. */
  value: unknown;
  /** That value in a few words. */
  label: string;
  /** All of the request's fields that the change sets. */
  changes: Record<string, unknown>;
  /** The verdict with it. */
  verdict: string;
  /** As in the result of size, with the change [tokens]. */
  longest_request_tokens: number | null;
  /** As in the result of size, with the change. */
  max_concurrency_for_workload: number | null;
  /** As in the result of size, with the change [bytes]. */
  available_kv_cache_bytes: number | null;
  /** GPUs of all stages and replicas, with the change. */
  num_accelerators: number;
  /** The result's fields that it moves, with their new values. */
  moved: Record<string, unknown>;
}

/** Requests of ``context_tokens`` that one replica holds at once. */
export interface Point {
  /** Tokens of a request, prompt and answer together. */
  context_tokens: number;
  /** Requests of that length that the pool holds at once, no more than are scheduled. */
  concurrency: number;
}

/** A model of the catalogue. */
export interface ModelEntry {
  /** What a request's ``model`` calls it. */
  id: string;
  /** Its name for people. */
  name: string;
  /** Its name on the Hugging Face hub. */
  hf_id: string;
  /** Parameters of the whole model, as its card counts them. */
  num_parameters: number;
  /** Layers, experts and how its checkpoint is kept, in a few words. */
  summary: string;
}

/** An accelerator of the catalogue. */
export interface AcceleratorEntry {
  /** What a request's ``accelerator`` calls it. */
  id: string;
  /** Its name for people. */
  name: string;
  /** Who makes it. */
  vendor: string;
  /** Its memory as its driver reports it [bytes]. */
  total_bytes: number | null;
  /** Whether that was measured or is assumed. */
  basis: string | null;
  /** Whether it can be sized. */
  known: boolean;
  /** How many one node has, where that is always the same. */
  accelerators_per_node: number | null;
  /** Why it cannot be sized; null where it can. */
  reason: string | null;
}

/** What was found in the text, before anything is made of it. */
export interface RecognisedText {
  /** vllm, sglang or tensorrt_llm; null where the text does not tell. */
  engine: string | null;
  /** As printed. */
  engine_version: string | null;
  /** As printed. */
  model: string | null;
  /** GPU names as printed. */
  accelerators: string[];
  /** Lines of the text. */
  num_lines: number;
  /** Lines, or parts of lines, that said something. */
  num_lines_read: number;
  /** Starts of the engine in the text, 0 where nothing was read; the figures are of the last. */
  num_starts: number;
  /** Ranks that printed something. */
  workers: string[];
  /** How often each kind of line was read. */
  kinds: Record<string, number>;
  /** The engine's settings as printed. */
  settings: Record<string, unknown>;
  /** Every figure, in the order of the text. */
  figures: RecognisedFigure[];
}

/** One figure of a run beside Napkin's. */
export interface CheckRow {
  /** The figure's name; the contract's where it has one. */
  figure: string;
  /** What Napkin says of the recognised scenario; null where it has no such figure. */
  predicted: number | number | null;
  /** What the run printed; of several ranks the one that decides. */
  measured: number | number;
  /** Measured less predicted. */
  difference: number | number | null;
  /** bytes, tokens, blocks or requests. */
  unit: string;
  /** Where the difference comes from, as far as it is known. */
  because: string;
  /** printed, or derived from what was printed. */
  basis: "printed" | "derived";
  /** The range that Napkin stated for the figure. */
  bounds: [number, number] | null;
  /** Whether the run fell inside that range, to the digits printed. */
  inside: boolean | null;
  /** The line of the text that it stands on. */
  line: number | null;
  /** What each rank printed, where they differ. */
  by_worker: Record<string, number | number>;
}

/** Figures that exclude each other; or, where ``excludes`` is false, that just say something. */
export interface Contradiction {
  /** Which rule it breaks, as one word. */
  kind: string;
  /** A sentence with the numbers. */
  message: string;
  /** The numbers that the sentence is about. */
  numbers: Record<string, number | number | string>;
  /** Whether they cannot all be true; false for what a run says of its own limits. */
  excludes: boolean;
}

/** One error, explained. */
export interface Explanation {
  /** Which error it is, as one word; a refusal's where Napkin knows it as one. */
  kind: "indivisible_heads" | "indivisible_kv_heads" | "unaligned_quantised_shard" | "indivisible_other" | "context_parallel" | "pipeline_parallel" | "too_many_accelerators" | "weights_exceed_budget" | "no_memory_for_kv_cache" | "kv_cache_too_small" | "free_memory_too_small" | "max_model_len_above_model" | "batched_tokens_too_small" | "dtype_not_on_accelerator" | "quantisation_not_on_accelerator" | "unsupported_quantisation" | "no_attention_backend" | "unsupported_architecture" | "warm_up_out_of_memory" | "out_of_memory" | "memory_released_while_profiling" | "sglang_pool_too_small" | "preempted" | "shared_memory" | "disk_full" | "out_of_host_memory" | "accelerators_not_allocatable" | "no_accelerator" | "probe_failed" | "gated_model" | "collectives_failed" | "driver_too_old" | "no_kernel_for_accelerator" | "kernel_too_large" | "illegal_memory_access" | "engine_died";
  /** The line of the text that it stands on. */
  line: number;
  /** Its own words, cut short. */
  text: string;
  /** What it says, in plain words. */
  meaning: string;
  /** Why it came, with this run's numbers. */
  why: string;
  /** Single changes that cure it, cheapest first; those outside the scenario change no field. */
  remedies: Remedy[];
  /** Whether its cause is another line of the text. */
  is_consequence: boolean;
}

/** One series, and where it should settle. */
export interface Series {
  /** What it is, in words. */
  name: string;
  /** PromQL that plots it. */
  expr: string;
  /** Where it settles under the scenario's workload; null where nothing is known. */
  settles_at: number | null;
  /** The most that it should reach. */
  high: number | null;
  /** share, requests, per_second, percent or bytes. */
  unit: string;
  /** Why that value. */
  because: string;
}

/** One alert. */
export interface Alert {
  /** Its name. */
  alert: string;
  /** The PromQL that fires it. */
  expr: string;
  /** How long it must hold; Prometheus calls it ``for``. */
  lasts: string;
  /** info, warning or critical. */
  severity: string;
  /** What is wrong, in a line. */
  summary: string;
  /** Why that is wrong for this scenario. */
  description: string;
}

/** A change, and what the engine does with it; nulls where that was not sized. */
export interface Remedy {
  /** The change in a few words, as a flag where it is one. */
  label: string;
  /** The request's fields that it sets; none where the cure is outside the scenario. */
  changes: Record<string, unknown>;
  /** The verdict with it. */
  verdict: string | null;
  /** The longest request that is then served [tokens]. */
  max_model_len: number | null;
  /** The longest request that would then fit [tokens]. */
  longest_request_tokens: number | null;
  /** Requests of the workload's length that are then held at once. */
  max_concurrency_for_workload: number | null;
  /** GPUs that it takes. */
  num_accelerators: number | null;
}

/** One figure that the text holds. */
export interface RecognisedFigure {
  /** Its name; the contract's where it has one. */
  figure: string;
  /** Its value; of several ranks the one that decides. */
  value: number | number;
  /** The line that it stands on. */
  line: number;
  /** That line, without what stands before the message. */
  text: string;
  /** What each rank printed. */
  by_worker: Record<string, number | number>;
}
