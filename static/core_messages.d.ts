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
  stallMilliseconds: number;
  startMilliseconds: number;
  answerMilliseconds: number;
  restartMilliseconds: number;
}

export interface Options {
  onState?: (state: State, detail: string) => void;
  onProgress?: (progress: { loadedBytes: number; totalBytes: number }) => void;
  timeouts?: Partial<Timeouts>;
  assets?: Assets;
}

export type Request = Record<string, unknown> & { ask?: string };

export interface Call {
  text: string;
  channel: string;
  /** The type of the answer depends on the question. */
  settle: (answer: any) => void;
}

/** To the worker: once to start, with absolute URLs, then a question at a time. */
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
