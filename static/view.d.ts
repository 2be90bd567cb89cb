/**
 * What the page keeps and what its widgets are given to draw: the words of all its modules, known
 * everywhere. Types only: nothing here is shipped.
 */

export {};

declare global {
  type Scalar = string | number | boolean;

  /**
   * The scenario as the form, the link and the store keep it: flat, `measured.x` dotted, config as
   * text. In a link an empty value means "as the engine would choose"; what cannot be read as a
   * value stays as it was typed, for the core to say what is wrong with it.
   */
  type Flat = Record<string, Scalar>;

  type Changes = Record<string, any>;

  interface Failure {
    field: string;
    reason: string;
    message: string;
    choices?: string[];
  }

  interface Remedy {
    label: string;
    changes: Changes;
    longest_request_tokens: number | null;
    max_concurrency_for_workload: number | null;
    num_accelerators: number;
    verdict: Verdict;
  }

  interface Refusal {
    kind: string;
    message: string;
    choices: Scalar[];
    remedies: Remedy[];
  }

  type Verdict = "fits" | "tight" | "refused" | "does_not_fit";

  interface Stage {
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

  interface Figure {
    name: string;
    value: number | boolean | string | null;
    unit: string;
    formula: string;
    inputs: Record<string, unknown>;
    summary: string;
    source: string;
    basis: "exact" | "fitted" | "assumed";
  }

  interface Result {
    verdict: Verdict;
    starts: boolean;
    refusals: Refusal[];
    reason: { kind: string } & Record<string, unknown>;
    notes: { kind: string; message: string }[];
    plain_formula?: { needed_bytes: number; times_the_engines: number; because: string[] } | null;
    model_name: string;
    model_limit_tokens: number | null;
    num_parameters: number | null;
    architecture: Record<string, number | boolean | string>;
    chosen: Record<string, Scalar | null>;
    num_accelerators: number;
    weights_bytes_per_rank: number | null;
    loaded_weights_bytes_per_rank: number | null;
    total_bytes: number;
    requested_bytes: number;
    available_kv_cache_bytes: number | null;
    kv_cache_bytes_per_token_per_rank: number | null;
    kv_cache_bytes_for_workload: number | null;
    num_kv_heads_per_rank: number | null;
    num_kv_head_replicas: number | null;
    needed_kv_cache_bytes: number | null;
    max_model_len: number | null;
    longest_request_tokens: number | null;
    max_concurrency_for_workload: number | null;
    bounds: Record<string, [number, number]>;
    memory_by_stage: Stage[];
    figures?: Figure[];
  }

  interface KnobRow {
    field: string;
    value: Scalar | null;
    label: string;
    changes: Changes;
    verdict: Verdict;
    longest_request_tokens: number | null;
    max_concurrency_for_workload: number | null;
  }

  interface FrontierPoint {
    context_tokens: number;
    concurrency: number;
  }

  interface Frontier {
    points: FrontierPoint[];
    refused_beyond_tokens: number | null;
    here: FrontierPoint | null;
  }

  interface CatalogueModel {
    id: string;
    name: string;
    hf_id: string;
    num_parameters: number;
    summary: string;
  }

  interface CatalogueAccelerator {
    id: string;
    name: string;
    vendor: string;
    total_bytes: number | null;
    basis: string;
    known: boolean;
  }

  interface Catalogue {
    models: CatalogueModel[];
    accelerators: CatalogueAccelerator[];
    engine_versions: string[];
    kv_cache_dtypes: string[];
    quantizations: string[];
    examples: { name: string; summary: string; request: Changes }[];
    defaults: Changes;
    /** The measured terms that a change of a field voids. */
    voids: Record<string, string[]>;
  }

  /** What goes with a field that is changed: the model's own numbers, and measured terms. */
  interface Ties {
    ofTheModel: string[];
    voids: Record<string, string[]>;
  }

  /** A logarithmic axis of a drawing. */
  interface Axis {
    low: number;
    high: number;
    to(value: number): number;
    at(place: number): number;
  }

  /** What the address says about the page itself rather than about the deployment. */
  interface PageState {
    embed: boolean;
    panel: string;
  }

  /** Where an answer shown stands: this scenario's own, an older one, or the one the page came with. */
  type Standing = "current" | "older" | "prepared";

  interface View {
    flat: Flat;
    page: PageState;
    result: Result;
    failure: Failure | null;
    knobs: { rows: KnobRow[] };
    frontier: Frontier;
    standing: Standing;
    core: { state: string; detail: string; loadedBytes: number; totalBytes: number };
  }

  interface FirstAnswers {
    request: Changes;
    size: { ok: boolean; result: Result };
    knobs: { ok: boolean; result: { rows: KnobRow[] } };
    frontier: { ok: boolean; result: Frontier };
    catalogue: { ok: boolean; result: Catalogue };
  }

  /** A part of the page: it finds its elements once, and what it answers then draws views. */
  type Widget = (root: any, change: Change) => (view: View) => void;

  /** How a change came about: while moving, by a finished gesture, or by going through the history. */
  type Gesture = "live" | "commit" | "history";

  /** Apply changes to the scenario. */
  type Change = (changes: Changes, gesture: Gesture) => void;
}
