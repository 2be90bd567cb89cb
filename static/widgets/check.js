// @ts-check
/** A real run beside the prediction. Its text is read and thinned here. */

/** @import { CheckRun } from "../contract.d.ts" */

import { all, each, on, phrase, setFigure, setText, show } from "../dom.js";
import { measure } from "../format.js";
import { drawCures, pressedCure } from "./cures.js";

/** To lay out more would freeze the page. */
const MOST_SHOWN = 100_000;
const SLICE = 2 ** 18;

/** @param {HTMLFormElement} root @param {Change} change @param {(question: Changes) => Promise<any>} ask */
export function createCheck(root, change, ask) {
  const [area, files, said, bad, errors, rows, good, actions, series, rules] = all(
    root,
    "textarea, input, [role=status], [data-each], #use-run, #rules",
  );
  /** @type {CheckRun} */
  let run;
  /** @type {Promise<string> | null} */
  let thinned = null;
  /** @type {Flat | null} */
  let asked = null;

  async function read() {
    // An empty run tells what to look for.
    run ??= (await ask({ ask: "check_run", text: "" }))?.result;
    if (!run) return;
    const parts = [...files.files, area.value].flatMap((part) => [part, "\n"]);
    thinned ??= thin(new Blob(parts), run.anchors);
    const mine = thinned;
    const text = await mine;
    if (mine !== thinned) return;
    const answer = await ask({ ask: "check_run", text });
    if (answer?.ok) draw(answer.result, text);
    const watch = await ask({ ask: "watch", ...answer?.result?.adopted });
    if (!watch?.ok) return;
    each(series, watch.result.series, fill);
    setText(rules, watch.result.rules);
  }

  /** @param {CheckRun} result @param {string} text */
  function draw(result, text) {
    run = result;
    setText(said, text.trim() && summary(run));
    each(bad, run.contradictions, fill);
    each(good, [...run.findings, ...run.notes], fill);
    each(errors, run.errors, (node, error) => {
      fill(node, error);
      drawCures(node.lastElementChild, /** @type {any} */ (error.remedies));
    });
    each(rows, run.rows, (node, row) => {
      const range = row.bounds?.map((bound) => measure(bound, row.unit)).join(" to ") ?? "";
      fill(node, { ...row, name: phrase(row.figure), range });
    });
    show(rows.closest(".scroll"), run.rows.length > 0);
    show(actions, run.recognised.num_lines_read > 0);
  }

  function readAnew() {
    thinned = null;
    read();
  }

  /** @param {Event} event @param {DataTransfer} data */
  function take(event, data) {
    event.preventDefault();
    event.stopPropagation();
    files.files = data.files;
    readAnew();
  }

  on(root, "input", readAnew);
  on(root, "reset", () => setTimeout(readAnew));
  on(root, "drop", (event) => take(event, event.dataTransfer));
  on(area, "paste", (event) => {
    const pasted = event.clipboardData.getData("text");
    if (pasted.length <= MOST_SHOWN) return;
    const data = new DataTransfer();
    data.items.add(new File([pasted], "pasted.txt"));
    take(event, data);
  });
  on(root, "click", ({ target }) => {
    const act = target.closest("button")?.dataset.act;
    const cures = /** @type {any} */ (run?.errors.flatMap(({ remedies }) => remedies) ?? []);
    const changes =
      act === "adopt" ? { measured: run.measured } : pressedCure(errors, target, cures);
    if (changes || act) change({ ...run.request, ...changes }, "commit");
  });

  return {
    element: root,
    /** @param {View} view */
    update({ flat, page }) {
      if (page.panel !== "check" || flat === asked) return;
      asked = flat;
      read();
    },
  };
}

/** Lines that hold an anchor, commands whole; of all others only their ends. @param {Blob} whole @param {string[]} anchors */
export async function thin(whole, anchors) {
  const wanted = new RegExp(anchors.map((text) => text.replace(/\W/g, "\\$&")).join("|"));
  let [thinned, rest] = ["", ""];
  for (let at = 0; at < whole.size; at += SLICE) {
    const piece = rest + (await whole.slice(at, at + SLICE).text());
    const lines = piece.replace(/\\[ \t]*\r?\n/g, " ").split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) thinned += wanted.test(line) ? `${line}\n` : "\n";
  }
  return thinned + rest;
}

/** @param {Pick<CheckRun, "recognised" | "request">} run */
export function summary({ recognised, request }) {
  const { engine, engine_version: version, num_lines_read: lines } = recognised;
  const ranks = request.tensor_parallel_size;
  const about = [engine && `${phrase(engine)} ${version ?? ""}`, ranks && `TP ${ranks}`];
  return [phrase("recognised", { lines }), ...about, phrase("kept")].filter(Boolean).join(" · ");
}

/** Fill a template's copy: its parts name what they show. @param {Element} node @param {any} item */
function fill(node, item) {
  for (const part of all(node, "[data-of]")) {
    const { of } = part.dataset;
    const value = item[of];
    if (typeof value === "string") setText(part, value);
    else if (value !== undefined)
      setFigure(part, `${item.figure ?? item.name}.${of}`, value, measure(value, item.unit));
  }
}
