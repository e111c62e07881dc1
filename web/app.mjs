// The entry point of the page: reads the address, watches the model, and passes both to the three views. Only the
// store changes the state. It writes each change to the address, so that every picture can be shared and the
// browser's back button works as undo.

import { getModel, isLocal } from "./api.mjs";
import { announce, byId, copy, report, show } from "./dom.mjs";
import { Explore } from "./explore.mjs";
import { Atlases } from "./factors.mjs";
import { VIEWS, fitted, fromAddress, toAddress } from "./state.mjs";
import { TrainingView, sentence } from "./training.mjs";
import { UploadView } from "./upload.mjs";

const MODEL_INTERVAL = 3000;
/** Milliseconds between two writes of the address while a slider moves: browsers refuse too many. */
const ADDRESS_INTERVAL = 250;
const THEMES = ["auto", "light", "dark"];

const store = {
  state: fromAddress(location.hash).state,
  /** @param {boolean} replace for intermediate changes, such as those of a moving slider */
  set(state, replace = false) {
    if (!replace) this.settle();
    this.state = state;
    if (replace) this.writing ??= setTimeout(() => this.settle(), ADDRESS_INTERVAL);
    else this.write("pushState");
    update();
  },
  /** Writes intermediate changes that are not in the address yet. */
  settle() {
    if (this.writing === undefined) return;
    this.forget();
    this.write("replaceState");
  },
  forget() {
    clearTimeout(this.writing);
    this.writing = undefined;
  },
  write(how) {
    const address = "#" + toAddress(this.state);
    if (address !== location.hash) history[how](null, "", address);
  },
};

const explore = new Explore(store);
const upload = new UploadView(store);
const training = new TrainingView(store);
let summary = null;
let unreachable = false;

function update() {
  const { view } = store.state;
  for (const name of VIEWS) {
    show(byId(name), name === view);
    const tab = byId(`show-${name}`);
    if (name === view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  show(byId("waiting"), view !== "training" && summary !== null && !summary.ready);
  byId("main").classList.toggle("without-model", !summary?.ready);
  if (view === "explore") explore.update(store.state);
  if (view === "image") upload.update(store.state);
  training.update(store.state);
}

/** Reads the state from the address; announces the parts that do not fit the model. */
function readAddress() {
  const { state, faults } = fromAddress(location.hash);
  if (summary?.model) {
    const fit = fitted(state, summary.model);
    store.state = fit.state;
    faults.push(...fit.faults);
  } else {
    store.state = state;
  }
  if (byId("show-training").hidden && store.state.view === "training") store.state = { ...store.state, view: "explore" };
  if (faults.length > 0) announce(`Ignored in the address: ${faults.join("; ")}`, true);
  update();
}

/** Asks what is served. When the model has changed, everything is redrawn with the same state. */
async function watchModel() {
  try {
    const next = await getModel();
    const first = summary === null;
    const changed = next.model?.version !== summary?.model?.version;
    summary = next;
    if (unreachable) announce("");
    unreachable = false;
    showSummary();
    if (changed && next.model) {
      const atlases = new Atlases(next.model);
      explore.setModel(next.model, atlases, next.nearest.available);
      upload.setModel(next.model, atlases, next.limits);
      training.setModel(next.model);
    }
    store.settle();
    if (first || changed) readAddress();
  } catch (error) {
    unreachable = true;
    report(error);
  }
  const settled = summary?.training.state === "finished" || summary?.training.state === "stopped";
  setTimeout(watchModel, settled ? 5 * MODEL_INTERVAL : MODEL_INTERVAL);
}

function showSummary() {
  byId("run").textContent = summary.run;
  document.title = `${summary.run} – Facet explorer`;
  byId("status").textContent = summary.training.state;
  byId("status").className = `status server-only ${summary.training.state}`;
  byId("status").title = sentence(summary.training);
  show(byId("show-training"), !isLocal || summary.training.lines > 0); // an exported model may have no curves
  byId("model-facts").textContent = [...facts(summary.model), summary.program].join(", ");
}

function facts(model) {
  if (!model) return [];
  const { factors, latents, shape, network_parameters: parameters } = model;
  return [`${factors.length} factor${factors.length === 1 ? "" : "s"}`, `${latents} latent dimensions`, `${shape.width} × ${shape.height} pixels`,
    `${parameters.toLocaleString("en")} network parameters`];
}

/** The colour theme: the system's, or the one chosen here. */
function showTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme-name").textContent = theme;
}

function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
  showTheme(theme);
  try {
    localStorage.setItem("facet-theme", theme);
  } catch {
    // This browser stores nothing: the theme lasts until the page is closed.
  }
}

function keptTheme() {
  try {
    return localStorage.getItem("facet-theme");
  } catch {
    return null;
  }
}

/** The space bar redraws, unless the focused element uses it. */
function onKey(event) {
  const busy = event.target.closest("button, input, select, textarea, summary, a, [role=switch]");
  if (event.key !== " " || busy || event.ctrlKey || event.metaKey || event.altKey || store.state.view !== "explore") return;
  event.preventDefault();
  explore.redraw();
}

for (const name of VIEWS) byId(`show-${name}`).addEventListener("click", () => store.set({ ...store.state, view: name }));
byId("share").addEventListener("click", () => {
  store.settle();
  copy(location.href, "Link to this picture");
});
byId("theme").addEventListener("click", nextTheme);
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address holds the state, not a position on the page
  byId("main").focus();
});
addEventListener("popstate", () => {
  store.forget();
  readAddress();
});
addEventListener("keydown", onKey);
showTheme(THEMES.includes(keptTheme()) ? keptTheme() : "auto");
watchModel();
