// @ts-check

import { createCore } from "./core.js";
import { all, find, on, phrase, set, setText } from "./dom.js";
import { fetchModel, HubError } from "./hub.js";
import { keepForOffline } from "./offline.js";
import { createPage, firstView } from "./page.js";
import { createStore, flatten, isSame, nest } from "./state.js";
import { readAddress, writeAddress } from "./url.js";
import { createCheck } from "./widgets/check.js";
import { createConfig } from "./widgets/config.js";
import { createModels, nameIn } from "./widgets/models.js";
import { createShare } from "./widgets/share.js";
import { createTips } from "./widgets/tips.js";

const part = (/** @type {string} */ id) => find(document, `#${id}`);
const first = /** @type {FirstAnswers} */ (JSON.parse(part("first-answers").textContent));
const defaults = flatten(first.request);
const view = firstView(first, readAddress(location.search, defaults));
/** The scenario that the figures on the page are of. */
let shown = defaults;
/** The scenario whose question was lost with its worker. @type {Flat | null} */
let lost = null;

const ofTheModel = all(document, "#architecture [name]").map(({ name }) => name);
const { voids } = first.catalogue.result;
const store = createStore(view.flat, { ofTheModel, voids }, take);
const drawPage = createPage(document, store.change);
const openConfig = createConfig(part("config-dialog"), (texts) => useConfig(texts));
const drawModels = createModels(
  part("scenario"),
  first.catalogue.result.models,
  store.change,
  useHub,
  openConfig,
);
const core = createCore({
  onState(state, detail) {
    drawLoading({ state, detail });
    // What is kept has then been loaded, and comes from the browser's own cache.
    if (state === "ready") keepForOffline();
  },
  onProgress: drawLoading,
});

const drawCheck = createCheck(part("check"), store.change, (question) =>
  core.ask({ ...nest(view.flat), ...question }),
);

/** @param {Partial<typeof view.core>} change */
function drawLoading(change) {
  Object.assign(view.core, change);
  draw();
}

function draw() {
  /** @type {any} */
  const focused = document.activeElement;
  drawPage(view);
  drawModels(view);
  drawCheck(view);
  if (focused !== document.activeElement || focused?.hidden) part("verdict").focus();
  set(find(document, "#embed-foot a"), { href: addressOf(view.flat, { embed: false, panel: "" }) });
}

/** @param {Flat} flat @param {typeof view.page} wanted */
const addressOf = (flat, wanted) => location.pathname + writeAddress(flat, wanted, defaults);

/** @param {Flat} flat @param {Gesture} gesture */
function take(flat, gesture) {
  // A question that is on its way knows its scenario by identity.
  const isChanged = !isSame(flat, view.flat);
  if (isChanged) view.flat = flat;
  writeHistory(gesture);
  if (isChanged) ask();
}

/** Say whose figures are on the page, where they are not the scenario's own. */
function stand() {
  const older = shown === defaults ? "prepared" : "older";
  view.standing = isSame(view.flat, shown) ? "current" : older;
}

async function ask() {
  const asked = view.flat;
  const request = nest(asked);
  const answer = core.ask({ ...request, figures: view.page.panel === "arithmetic" });
  if (view.core.state !== "ready") stand();
  draw();
  const size = await answer;
  if (size === null || asked !== view.flat) return;
  if (size.failure?.reason === "core_crashed") {
    // Once more, to the next worker: a question that takes two workers down is left alone.
    stand();
    draw();
    if (lost !== asked) ask();
    lost = asked;
    return;
  }
  view.failure = size.ok ? null : size.failure;
  if (size.ok) {
    shown = asked;
    view.result = size.result;
  }
  stand();
  draw();
  if (!size.ok) return;
  announce(`${find(document, ".said").textContent}. ${part("reason").textContent}`);
  for (const question of /** @type {const} */ (["knobs", "frontier"])) {
    const more = await core.ask({ ...request, ask: question });
    if (!more?.ok || asked !== view.flat) return;
    view[question] = more.result;
    draw();
  }
}

/** A config's text becomes the few fields that were read in it: they go into the link. @param {Changes} texts @param {string} [name] @returns {Promise<string>} */
async function useConfig(texts, name = nameIn(texts.config)) {
  const answer = await core.ask({ ask: "model", ...texts });
  if (!answer?.ok) return answer?.failure.message ?? "Another config came in between.";
  const config = JSON.stringify({ ...(name && { _name_or_path: name }), ...answer.result.config });
  store.change({ ...texts, config }, "commit");
  return "";
}

/** @param {string} id @returns {Promise<string>} */
async function useHub(id) {
  try {
    return await useConfig(
      await fetchModel(id, find(document, "meta[name=napkin-hub]").content),
      id,
    );
  } catch (error) {
    if (!(error instanceof HubError)) throw error;
    return phrase(error.kind, { id, wait: error.seconds ? `${error.seconds} s` : "a while" });
  }
}

/** @param {number} milliseconds */
function patiently(milliseconds) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return (/** @type {() => void} */ act) => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds);
  };
}

// Browsers allow some hundred changes of the address in half a minute.
const writeAddressSoon = patiently(250);
const announceSoon = patiently(700);
let settledAddress = location.href;

/** While something moves, the entry follows; once it has come to rest, the one before is kept. @param {Gesture} gesture */
function writeHistory(gesture) {
  const { href } = new URL(addressOf(view.flat, view.page), location.href);
  writeAddressSoon(() => gesture === "live" && history.replaceState(null, "", href));
  if (gesture !== "commit" || href === settledAddress) return;
  history.replaceState(null, "", settledAddress);
  history.pushState(null, "", href);
  settledAddress = href;
}

/** @param {string} said */
function announce(said) {
  announceSoon(() => setText(part("live"), said));
}

/** @param {string} panel */
function openPanel(panel) {
  view.page.panel = panel;
  if (panel === "arithmetic" && !view.result.figures) ask();
  else draw();
}

on(window, "popstate", () => {
  const { flat, page: wanted } = readAddress(location.search, defaults);
  settledAddress = location.href;
  store.put(flat, "history");
  openPanel(wanted.panel);
});
on(document, "click", (event) => {
  const target = /** @type {any} */ (event.target);
  const link = target.closest("nav a");
  if (link && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    part("examples").hidePopover();
    store.put(readAddress(link.search, defaults).flat, "commit");
  }
  const { panel } = target.dataset;
  if (panel) {
    openPanel(view.page.panel === panel ? "" : panel);
    writeHistory("commit");
  }
});
on(find(document, "#loading button"), "click", () => {
  core.retry();
  if (!isSame(view.flat, shown)) ask();
});

createShare(document, view, announce);
createTips(part("tip"));
document.documentElement.toggleAttribute("data-embed", view.page.embed);
core.start();
if (isSame(view.flat, defaults)) draw();
else ask();
