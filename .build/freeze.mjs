// Runs the core in the pinned Pyodide under Node, sees which modules that takes, and compiles them.
//
// usage: node freeze.mjs JOB.json, with JOB = { pyodide, sources: {path: text}, requests: [text], out }
// Leaves out/<module path>.pyc for each module that took part.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const job = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));

async function freeze() {
  const { loadPyodide } = await import(pathToFileURL(join(job.pyodide, "pyodide.mjs")).href);
  const python = await loadPyodide({
    indexURL: job.pyodide,
    packageBaseUrl: job.pyodide,
    // Code keeps its lines and not its columns: a traceback still says where, in a third less.
    env: { PYTHONNODEBUGRANGES: "1" },
  });
  for (const [path, text] of Object.entries(job.sources)) {
    const full = `/napkin/${path}`;
    python.FS.mkdirTree(dirname(full));
    python.FS.writeFile(full, text);
  }
  python.FS.writeFile("/freezer.py", readFileSync(new URL("freezer.py", import.meta.url), "utf8"));
  python.runPython("import sys; sys.path[:0] = ['/', '/napkin']");
  const freezer = python.pyimport("freezer");
  freezer.run(JSON.stringify(job.requests));
  for (const [path, bytes] of freezer.compile_all().toJs({ dict_converter: Array.from })) {
    const target = join(job.out, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, bytes);
  }
}

// Node would print Pyodide's source, all on one line, before the error itself.
freeze().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
