/** What the client of the core and its worker say to each other. Types only: not shipped. */

/** Where the build put things, and how many bytes arrive when everything has. */
export interface Assets {
  worker: string;
  /** Folder of Pyodide; ends in a slash. */
  runtime: string;
  /** The standard library and the core, gzipped by the build so that it is small on every host. */
  bundle: string;
  total_bytes: number;
  lock: Lock;
}

export interface Lock {
  info: object;
  packages: object;
}

export type State = "starting" | "ready" | "stalled" | "failed";

export interface Timeouts {
  /** Nothing has arrived for so long: say that the load has stalled. */
  stallMilliseconds: number;
  /** Everything has arrived, and Python has not started for so long. */
  startMilliseconds: number;
  /** One answer takes so long: it will not come. */
  answerMilliseconds: number;
  /** Sizing asked so lately holds back what follows it: the hand may still be moving. */
  restMilliseconds: number;
  /** A worker that crashes sooner than this after a restart is not restarted again. */
  restartMilliseconds: number;
}

export interface Options {
  onState?: (state: State, detail: string) => void;
  onProgress?: (progress: { loadedBytes: number; totalBytes: number }) => void;
  timeouts?: Partial<Timeouts>;
  assets?: Assets;
}

/**
 * A question. One is on its way at a time; for each kind only the newest waits, and the one before
 * it resolves to null.
 */
export type Request = Record<string, unknown> & { ask?: string };

export interface Call {
  text: string;
  channel: string;
  /** The type of the answer depends on the question. */
  settle: (answer: any) => void;
}

/**
 * To the worker: once to start, with absolute URLs, then a question at a time. The lock file of
 * Pyodide's packages is handed over rather than fetched, since none is used.
 */
export type ToWorker =
  | { start: { runtime: string; bundle: string; lock: Lock } }
  | { id: number; text: string };

/** From the worker: bytes that arrived, ready or failed, and the answers. */
export interface FromWorker {
  bytes?: number;
  ready?: true;
  failed?: string;
  crashed?: string;
  text?: string;
}
