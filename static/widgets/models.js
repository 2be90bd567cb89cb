// @ts-check

import { all, each, fill, find, on, set, setText, show } from "../dom.js";
import { parameters } from "../format.js";
import { isHubId } from "../hub.js";

/** @param {unknown} config its text */
export const nameIn = (config) => /"_name_or_path"\s*:\s*"([^"\\]+)"/.exec(String(config))?.[1];

/**
 * @param {HTMLFormElement} form
 * @param {CatalogueModel[]} catalogue
 * @param {Change} change
 * @param {(id: string) => Promise<string>} fetchModel answers what went wrong, or nothing
 * @param {(text?: string) => void} openConfig
 */
export function createModels(form, catalogue, change, fetchModel, openConfig) {
  const input = find(form, "[name=model]");
  const shown = input.nextElementSibling;
  const [popup, none, list, fetcher, said] = all(
    form,
    "#model-popup, #no-model, #model-list, #hub-fetch, #hub-said",
  );
  /** @type {CatalogueModel[]} */
  let found = [];
  let active = -1;
  let settled = "";

  /** @param {boolean} wanted */
  function open(wanted) {
    show(popup, wanted);
    set(input, { "aria-expanded": wanted, "aria-activedescendant": null });
    if (!wanted) return;
    // The popup follows the pick, which moves as the sentence wraps.
    const { offsetTop, offsetHeight } = input.parentElement;
    popup.style.insetBlockStart = `${offsetTop + offsetHeight + 8}px`;
    const text = String(input.value === settled ? "" : input.value.trim());
    let near = text;
    // What matches nothing is cut from its end until it does.
    for (found = matches(near); near && !found.length; found = matches(near))
      near = near.slice(0, -1);
    show(none, near !== text);
    activate(near !== text ? -1 : text ? 0 : found.findIndex(({ name }) => name === settled));
    show(fetcher, isHubId(text));
    for (const named of [none, fetcher]) setText(find(named, "b"), text);
  }

  /** @param {string} text */
  function matches(text) {
    const words = text.toLowerCase().split(/[\s/]+/);
    return catalogue.filter((model) => {
      const where = Object.values(model).join(" ").toLowerCase();
      return words.every((word) => where.includes(word));
    });
  }

  /** @param {number} index */
  function activate(index) {
    active = index;
    each(list, found, (item, model, at) => {
      set(item, { id: `model-${at}`, "aria-selected": at === active });
      fill(item, { ...model, size: parameters(model.num_parameters) });
    });
    set(input, { "aria-activedescendant": found[active] ? `model-${active}` : null });
    list.children[Math.max(active, 0)]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} id */
  function choose(id) {
    open(false);
    change({ model: id }, "commit");
  }

  /** Take what was typed, if it is a model by any of its names. */
  function take() {
    const folded = input.value.trim().toLowerCase();
    const match = catalogue.find(({ id, name, hf_id }) =>
      [id, name, hf_id].some((word) => word.toLowerCase() === folded),
    );
    if (match && input.value !== settled) choose(match.id);
    else restore();
  }

  function restore() {
    open(false);
    input.value = settled;
    setText(shown, settled);
  }

  /** @type {Record<string, () => void>} */
  const keys = {
    ArrowDown: () => activate((active + 1) % found.length),
    ArrowUp: () => activate((active + found.length - 1) % found.length),
    Enter() {
      const model = found[active];
      if (model) choose(model.id);
      else if (!fetcher.hidden) fetcher.focus();
    },
    Escape() {
      restore();
      input.focus();
    },
  };

  on(input, "click", () => {
    input.select();
    open(true);
  });
  on(input, "input", () => {
    setText(shown, input.value || "…");
    open(true);
  });
  on(input, "keydown", (event) => {
    const act = keys[event.key];
    if (!act || (popup.hidden && !event.key.startsWith("Arrow"))) return;
    event.preventDefault();
    if (popup.hidden) open(true);
    else act();
  });
  // A pasted config keeps its line breaks only if it goes straight to its own field.
  on(input, "paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (!text.trimStart().startsWith("{")) return;
    event.preventDefault();
    open(false);
    openConfig(text);
  });
  on(popup, "keydown", ({ key }) => {
    if (key === "Escape") keys.Escape?.();
  });
  // The list is worked from the input, which keeps the focus.
  on(list, "pointerdown", (event) => event.preventDefault());
  on(list, "click", ({ target }) => {
    const model = found[[...list.children].indexOf(target.closest("li"))];
    if (model) choose(model.id);
  });
  on(form, "focusout", ({ target, relatedTarget }) => {
    const isOurs = (/** @type {any} */ node) => node === input || popup.contains(node);
    if (!isOurs(target) || isOurs(relatedTarget) || !document.hasFocus()) return;
    take();
  });
  on(fetcher, "click", async () => {
    setText(said, "Asking Hugging Face …");
    const wrong = await fetchModel(find(fetcher, "b").textContent);
    set(said, { class: wrong ? "failure" : "hint" });
    setText(said, wrong);
    // What was typed is the scenario's model now.
    if (!wrong) keys.Escape?.();
  });
  on(find(form, "#config-open"), "click", () => {
    open(false);
    openConfig();
  });

  /** @param {View} view */
  return ({ flat, result, standing }) => {
    const known = catalogue.find(({ id }) => id === flat.model)?.name;
    const [name, size] = [result.model_name, parameters(Number(result.num_parameters))];
    const read =
      nameIn(flat.config) ?? (standing === "current" ? `${name}, ${size}` : "config.json");
    settled = String("config" in flat ? read : (known ?? flat.model ?? ""));
    if (!popup.hidden) return;
    if (input.value !== settled) input.value = settled;
    setText(shown, settled);
  };
}
