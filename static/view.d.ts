/** What the page keeps and what its widgets are given to draw. Types only: nothing here is shipped. */

export type Scalar = string | number | boolean;

/** The scenario as the form, the link and the store keep it: flat, `measured.x` dotted, config as text. */
export type Flat = Record<string, Scalar>;

export type Changes = Record<string, any>;

export interface Failure {
  field: string;
  reason: string;
  message: string;
  choices?: string[];
}

export interface Remedy {
  label: string;
  changes: Changes;
  longest_request_tokens: number | null;
  max_concurrency_for_workload: number | null;
  verdict: Verdict;
}

export interface Refusal {
  kind: string;
  message: string;
  remedies: Remedy[];
}

export type Verdict = "fits" | "tight" | "refused" | "does_not_fit";

export interface Stage {
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

export interface Figure {
  name: string;
  value: number | boolean | string | null;
  unit: string;
  formula: string;
  inputs: Record<string, unknown>;
  summary: string;
  source: string;
  basis: "exact" | "fitted" | "assumed";
}

export interface Result {
  verdict: Verdict;
  starts: boolean;
  refusals: Refusal[];
  reason: { kind: string } & Record<string, unknown>;
  notes: { kind: string; message: string }[];
  model_name: string;
  model_limit_tokens: number | null;
  architecture: Record<string, number | boolean | string>;
  chosen: Record<string, Scalar | null>;
  num_accelerators: number;
  weights_bytes_per_rank: number;
  loaded_weights_bytes_per_rank: number;
  total_bytes: number;
  requested_bytes: number;
  available_kv_cache_bytes: number;
  kv_cache_bytes_per_token_per_rank: number;
  needed_kv_cache_bytes: number;
  max_model_len: number | null;
  longest_request_tokens: number | null;
  max_concurrency_for_workload: number | null;
  bounds: Record<string, [number, number]>;
  memory_by_stage: Stage[];
  figures?: Figure[];
}

export interface KnobRow {
  field: string;
  value: Scalar | null;
  label: string;
  changes: Changes;
  verdict: Verdict;
  longest_request_tokens: number | null;
  max_concurrency_for_workload: number | null;
}

export interface FrontierPoint {
  context_tokens: number;
  concurrency: number;
}

export interface Frontier {
  points: FrontierPoint[];
  refused_beyond_tokens: number | null;
  here: FrontierPoint;
}

export interface CatalogueModel {
  id: string;
  name: string;
  hf_id: string;
  num_parameters: number;
  summary: string;
}

export interface CatalogueAccelerator {
  id: string;
  name: string;
  vendor: string;
  total_bytes: number | null;
  basis: string;
  known: boolean;
}

export interface Catalogue {
  models: CatalogueModel[];
  accelerators: CatalogueAccelerator[];
  engine_versions: string[];
  kv_cache_dtypes: string[];
  quantizations: string[];
  examples: { name: string; summary: string; request: Changes }[];
  defaults: Changes;
}

/** What the address says about the page itself rather than about the deployment. */
export interface PageState {
  embed: boolean;
  panel: string;
}

/** Where an answer shown stands: this scenario's own, an older one, or the one the page came with. */
export type Standing = "current" | "older" | "prepared";

export interface View {
  flat: Flat;
  page: PageState;
  result: Result | null;
  failure: Failure | null;
  knobs: { rows: KnobRow[] } | null;
  frontier: Frontier | null;
  standing: Standing;
  core: { state: string; detail: string; loadedBytes: number; totalBytes: number };
}

export interface FirstAnswers {
  request: Changes;
  size: { ok: boolean; result: Result };
  knobs: { ok: boolean; result: { rows: KnobRow[] } };
  frontier: { ok: boolean; result: Frontier };
  catalogue: { ok: boolean; result: Catalogue };
}

/** A part of the page: it finds its elements once and then draws views. */
export type Widget = (
  root: any,
  change: Change,
) => { element: Element; update(view: View): void };

/** How a change came about: while moving, by a finished gesture, or by going through the history. */
export type Gesture = "live" | "commit" | "history";

/** Apply changes to the scenario. */
export type Change = (changes: Changes, gesture: Gesture) => void;
