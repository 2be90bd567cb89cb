// Installs the core's wheel with micropip in a stock Pyodide and asks it one question.
//
// usage: node micropip_check.mjs JOB, with JOB = { pyodide, micropip, wheel, request, expected }

import { deepStrictEqual } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const job = JSON.parse(process.argv[2] ?? "");

async function check() {
  const { loadPyodide } = await import(pathToFileURL(join(job.pyodide, "pyodide.mjs")).href);
  const python = await loadPyodide({ indexURL: job.pyodide, packageBaseUrl: job.pyodide });
  python.unpackArchive(new Uint8Array(readFileSync(job.micropip)), "wheel");
  const wheel = `/${basename(job.wheel)}`;
  python.FS.writeFile(wheel, readFileSync(job.wheel));
  const micropip = python.pyimport("micropip");
  await micropip.install.callKwargs(`emfs:${wheel}`, { deps: false });
  const { ok, result, failure } = JSON.parse(python.pyimport("pycore.bridge").answer(job.request));
  deepStrictEqual(failure, undefined);
  deepStrictEqual(ok, true);
  const found = Object.fromEntries(Object.keys(job.expected).map((name) => [name, result[name]]));
  deepStrictEqual(found, job.expected);
}

// Node would print Pyodide's source, all on one line, before the error itself.
check().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
