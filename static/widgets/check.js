// @ts-check
/** A real run beside the prediction. Its text is read and thinned here. */

/** @import { CheckRun } from "../contract.d.ts" */

import { all, each, fill, find, on, onLongPaste, phrase, set, setText, show } from "../dom.js";
import { amount, named, plural } from "../format.js";
import { drawCures, pressedCure } from "./cures.js";

const SLICE = 2 ** 18;

/** @param {HTMLFormElement} root @param {Change} change @param {(question: Changes) => Promise<any>} ask */
export function createCheck(root, change, ask) {
  const [area, files, said, bad, errors, rows, good, fillIn, adopt, watched, series, rules] = all(
    root,
    "textarea, input, [role=status], [data-each], [data-act], details.watch, #rules",
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
    if (answer?.ok) draw(answer.result);
    const watch = await ask({ ask: "watch", ...answer?.result?.adopted });
    if (!watch?.ok) return;
    each(series, watch.result.series, (node, item) => {
      fill(node, {
        ...item,
        ...figures(item),
        name: named(item.name, item.unit),
      });
    });
    setText(rules, watch.result.rules);
  }

  /** @param {CheckRun} result */
  function draw(result) {
    run = result;
    setText(said, files.files.length || area.value.trim() ? summary(run) : "");
    each(bad, run.contradictions, fill);
    each(good, [...run.findings, ...run.notes], fill);
    each(errors, run.errors, (node, error) => {
      fill(node, error);
      drawCures(node.lastElementChild, /** @type {any} */ (error.remedies));
    });
    each(rows, run.rows, (node, row) => {
      const range = row.bounds?.map((bound) => amount(bound, row.unit)).join(" to ") ?? "";
      const name = named(phrase(row.figure), row.unit);
      fill(node, { ...row, ...figures(row), name, range });
      const tone = row.inside ? "good" : row.inside === false ? "bad" : "";
      set(find(node, "[data-of=difference]"), { class: tone });
    });
    show(rows.closest(".scroll"), run.rows.length > 0);
    show(fillIn, Object.keys(run.request).length > 0);
    show(adopt, Object.keys(run.measured).length > 0);
    show(watched, run.errors.length === 0);
  }

  function readAnew() {
    thinned = null;
    read();
  }

  /** @param {FileList} given */
  function take(given) {
    files.files = given;
    readAnew();
  }

  on(root, "input", readAnew);
  on(root, "reset", () => setTimeout(readAnew));
  on(root, "drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    take(event.dataTransfer.files);
  });
  onLongPaste(area, take);
  on(root, "click", ({ target }) => {
    const act = target.closest("button")?.dataset.act;
    const cures = /** @type {any} */ (run?.errors.flatMap(({ remedies }) => remedies) ?? []);
    const cure = pressedCure(errors, target, cures);
    if (cure || act === "adopt") change({ ...run.adopted, ...cure }, "commit");
    else if (act) change(run.request, "commit");
  });

  /** @param {View} view */
  return ({ flat, page }) => {
    if (page.panel !== "check" || flat === asked) return;
    asked = flat;
    read();
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
  const { engine, engine_version: version, num_lines_read: read } = recognised;
  if (!read) return phrase("unrecognised");
  const lines = plural(read, "line");
  const ranks = request.tensor_parallel_size;
  const about = [engine && `${phrase(engine)} ${version ?? ""}`, ranks && `TP ${ranks}`];
  return [phrase("recognised", { lines }), ...about, phrase("kept")].filter(Boolean).join(" · ");
}

/** The figures of an item, for its template's parts. @param {any} item */
const figures = ({ figure, unit, ...item }) =>
  Object.fromEntries(
    Object.entries(item)
      .filter(([, value]) => typeof value !== "string")
      .map(([of, value]) => [of, [`${figure ?? item.name}.${of}`, value, amount(value, unit)]]),
  );
