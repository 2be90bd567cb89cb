// Runs the core in the pinned Pyodide under Node, sees which modules that takes, and compiles them.
//
// usage: node freeze.mjs JOB.json
// JOB: { pyodide, sources: {path: text}, requests: [text], out } writes out/<module path>.pyc and
// prints { modules, answers } as JSON: what was compiled, and what the core answered.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const job = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
const { loadPyodide } = await import(pathToFileURL(join(job.pyodide, "pyodide.mjs")).href);
const python = await loadPyodide({ indexURL: job.pyodide, packageBaseUrl: job.pyodide });

for (const [path, text] of Object.entries(job.sources)) {
  const full = `/napkin/${path}`;
  python.FS.mkdirTree(dirname(full));
  python.FS.writeFile(full, text);
}
python.FS.writeFile("/freezer.py", readFileSync(new URL("freezer.py", import.meta.url), "utf8"));
python.runPython("import sys; sys.path[:0] = ['/', '/napkin']; import freezer");
const freezer = python.pyimport("freezer");
const answers = freezer.run(JSON.stringify(job.requests));
const compiled = freezer.compile_all().toJs({ dict_converter: Array.from });
for (const [path, bytes] of compiled) {
  const target = join(job.out, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, bytes);
}
process.stdout.write(
  JSON.stringify({
    modules: compiled.map((/** @type {[string, Uint8Array]} */ [path]) => path),
    answers: JSON.parse(answers),
  }),
);
