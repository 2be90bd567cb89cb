// @ts-check
/**
 * Every native control of the scenario but the model. A control's `name` is the contract's key and
 * its `data-kind` says how a person writes the value; empty means "as the engine would choose".
 */

import { all, find, on, set, setFigure, setText, show } from "../dom.js";
import { bytes, count, readCount, readGib, readNumber, shortDtype, writeGib } from "../format.js";

/** @type {Record<string, (typed: string) => Scalar>} */
const READ = { count: readCount, number: readNumber, gib: readGib };
const OTHER = "other";
const MOST_CHOICES_NAMED = 5;

/** @type {Widget} */
export const createControls = (form, change) => {
  const controls = all(form, "[name]").filter(({ name }) => name !== "model");

  /** @param {any} control @param {"live" | "commit"} gesture */
  function read(control, gesture) {
    if (!controls.includes(control)) return;
    const { name, value, checked, dataset } = control;
    if (value === OTHER) {
      find(form, "#more").open = true;
      find(form, "[name=accelerator_total_bytes]").focus();
    } else if (dataset.kind === "flag") {
      change({ [name]: checked === "on" in dataset ? null : checked }, gesture);
    } else {
      writeShown(control, value);
      const typed = value.trim();
      change({ [name]: typed === "" ? null : (READ[dataset.kind] ?? readFlag)(typed) }, gesture);
    }
  }
  on(form, "input", ({ target }) => read(target, "live"));
  on(form, "change", ({ target }) => read(target, "commit"));
  on(form, "submit", (event) => event.preventDefault());
  on(find(form, "#architecture"), "click", ({ target }) => {
    const { by } = target.dataset;
    if (by === undefined) return;
    const { name, value, placeholder } = find(target.parentElement, "input");
    const next = Number(readCount(value || placeholder)) * Number(by);
    change({ [name]: by ? Math.max(1, Math.floor(next)) : null }, "commit");
  });

  return (view) => {
    for (const control of controls) drawControl(control, view);
    drawCount(find(form, "[data-figure=num_accelerators]"), view);
    for (const row of all(form, ".number")) {
      const { name } = find(row, "input");
      show(row, name in view.flat || name in view.result.architecture);
      show(row.lastElementChild, name in view.flat);
    }
    drawFailure(form, view);
    const changed = all(form, "#more .changed [name]").map(({ name }) => name);
    const summary = find(form, "summary");
    set(summary, { title: changed.join(", ") || null });
    setText(summary.firstElementChild, changed.length ? `· ${changed.length} changed` : "");
  };
};

/** The number of GPUs follows the sizes at once, without waiting for the answer. @param {Element} node @param {View} view */
function drawCount(node, { flat, result }) {
  const size = (/** @type {string} */ name) => Number(flat[`${name}_parallel_size`] ?? 1);
  const product = size("tensor") * size("pipeline") * size("data");
  const gpus = Number.isSafeInteger(product) && product > 0 ? product : result.num_accelerators;
  setFigure(node, "num_accelerators", gpus, count(gpus));
}

/** @param {string} typed */
const readFlag = (typed) => (/^(true|false)$/.test(typed) ? typed === "true" : typed);

/** @param {any} control @param {View} view */
function drawControl(control, view) {
  const { kind } = control.dataset;
  const value = view.flat[control.name];
  control.closest(".fields label")?.classList.toggle("changed", value !== undefined);
  if (kind === "flag") {
    control.checked = value ?? "on" in control.dataset;
    control.toggleAttribute("checked", control.checked);
  } else if (control.tagName === "SELECT") {
    drawSelect(control, value, view);
  } else {
    const written =
      kind === "gib" && typeof value === "number" ? writeGib(value) : String(value ?? "");
    set(control, { placeholder: standIn(control, view) });
    // What is being typed stays as typed.
    if (control === document.activeElement) return;
    if (control.value !== written) control.value = written;
    writeShown(control, written);
  }
}

/** What an empty field stands for. @param {any} control @param {View} view */
function standIn({ name, dataset, placeholder }, { result }) {
  const own = /** @type {any} */ (result)?.[name.split("measured.")[1] ?? ""];
  const chosen = result.chosen[name] ?? result.architecture[name] ?? own;
  if (typeof chosen !== "number") return String(chosen ?? placeholder ?? "");
  if (dataset.kind === "gib") return Number(writeGib(chosen)).toFixed(2);
  return dataset.kind === "count" ? count(chosen) : String(chosen);
}

/** What the sentence shows in the place of a control that has no focus. @param {any} control @param {string} written */
function writeShown(control, written) {
  const shown = control.nextElementSibling;
  if (!shown?.matches(".shown")) return;
  const { before = "", after = "", kind } = control.dataset;
  const text = written || control.getAttribute("placeholder") || "…";
  const read = kind === "count" ? readCount(text) : text;
  setText(shown, before + (typeof read === "number" ? count(read) + after : text));
  shown.parentElement.classList.toggle("unset", written === "");
}

/** @param {any} select @param {Scalar | undefined} value @param {View} view */
function drawSelect(select, value, { flat, result }) {
  const { name } = select;
  const isOther = name === "accelerator" && "accelerator_total_bytes" in flat;
  const wanted = isOther ? OTHER : String(value ?? select.options[0]?.value);
  let option = all(select, "option").find((each) => each.value === wanted);
  if (!option) {
    // What a link asks for and the list lacks stays to be seen; the core says what is wrong.
    option = document.createElement("option");
    option.value = option.textContent = wanted;
    select.append(option);
  }
  if (!option.selected) option.selected = true;
  let text = option.dataset.short ?? option.textContent;
  if (wanted === "" || wanted === "auto") {
    const own = result.chosen[name] ?? (name === "quantization" ? result.chosen.dtype : null);
    text = own ? shortDtype(String(own)) : text;
    setText(option, `${text}, ${wanted || "as published"}`);
  }
  if (typeof flat.accelerator_total_bytes === "number" && isOther) {
    text = `${bytes(flat.accelerator_total_bytes)} GPU`;
  }
  const shown = select.nextElementSibling;
  if (shown?.matches(".shown")) setText(shown, text);
}

/** Say what is wrong beside the control that it concerns. @param {HTMLFormElement} form @param {View} view */
function drawFailure(form, { failure, flat }) {
  const field = failure?.field.replace(/^(config|hf_quant_config)\b.*/, "model");
  const said = find(form, "#failure");
  for (const control of all(form, "[name]")) {
    const isWrong = Boolean(failure) && control.name === field;
    set(control, {
      "aria-invalid": isWrong || null,
      "aria-errormessage": isWrong ? "failure" : null,
    });
    if (!isWrong) continue;
    const holder = control.closest(".sentence, label");
    if (holder.nextElementSibling !== said) holder.after(said);
    holder.closest("details")?.setAttribute("open", "");
  }
  const typed = String(flat[field ?? ""]).toLowerCase();
  const near = failure?.choices
    ?.filter((choice) => choice.includes(typed))
    .slice(0, MOST_CHOICES_NAMED);
  setText(said, [failure?.message ?? "", near?.join(", ")].filter(Boolean).join(": "));
}
