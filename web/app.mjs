// The entry point of the page: reads the address, watches the model, and passes both to the three views. Only the
// store changes the state. It writes each change to the address, so that every picture can be shared and the
// browser's back button works as undo.

import { getModel, isLocal } from "./api.mjs";
import { Atlases } from "./atlases.mjs";
import { Connection } from "./connection.mjs";
import { announce, byId, copy, counted, report, show } from "./dom.mjs";
import { DataView } from "./data.mjs";
import { Explore } from "./explore.mjs";
import { NameDialog } from "./names.mjs";
import { sentence } from "./phases.mjs";
import { VIEWS, fitted, fromAddress, renamedIn } from "./state.mjs";
import { Store } from "./store.mjs";
import { TrainingView } from "./training.mjs";
import { UploadView } from "./upload.mjs";

const MODEL_INTERVAL = 3000;
/** Milliseconds between two attempts to reach a server that does not answer. */
const RETRY_INTERVAL = 1000;
const THEMES = ["auto", "light", "dark"];

const store = new Store(fromAddress(location.hash).state, update);

/** Names that were given here and that the next answer about the model will have. */
const renames = [];
const names = new NameDialog((rename) => renames.push(rename));
const explore = new Explore(store, names);
const upload = new UploadView(store);
const data = new DataView(store, (file) => upload.take([file]), names);
const training = new TrainingView(store);
const connection = new Connection(byId("connection"), byId("picture-frame"));
let summary = null;
let atlases = null;

function update() {
  const { view } = store.state;
  byId("undo").disabled = !store.canUndo;
  byId("redo").disabled = !store.canRedo;
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
  if (view === "data") data.update(store.state);
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
    const returned = connection.isLost;
    connection.found();
    showSummary();
    data.setSummary(next);
    if (store.state.view === "data" && !changed) data.update(store.state);
    if (changed && next.model) {
      if (renames.length > 0) store.replace(renames.splice(0).reduce(renamedIn, store.state));
      atlases?.close();
      atlases = new Atlases(next.model);
      explore.setModel(next.model, atlases, next.nearest.available, next.write);
      upload.setModel(next.model, atlases, next);
      data.setModel(next.model, atlases, next);
      training.setModel(next.model);
    }
    explore.setTraining(next.training, next.nearest);
    upload.neighbours.setData(next.nearest);
    store.settle();
    if (first || changed) readAddress();
    else if (returned) update(); // what was requested in the meantime has no answer yet
  } catch (error) {
    if (error.isConnection) connection.lost();
    else report(error);
  }
  const trained = summary?.training.state === "finished" || summary?.training.state === "stopped";
  const settled = trained && (summary.nearest.ready || !summary.nearest.available); // images may still be encoded
  const interval = connection.isLost ? RETRY_INTERVAL : settled ? 5 * MODEL_INTERVAL : MODEL_INTERVAL;
  clearTimeout(watching);
  watching = setTimeout(watchModel, interval);
}
let watching;

/** Names have changed: the model is asked for at once. */
addEventListener("facet-changed", () => {
  clearTimeout(watching);
  watchModel();
});

/** A request found no server: the model is asked for until there is one again. */
addEventListener("facet-lost", () => {
  if (connection.isLost) return;
  connection.lost();
  clearTimeout(watching);
  watching = setTimeout(watchModel, RETRY_INTERVAL);
});

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
  return [counted(factors.length, "factor"), counted(latents, "latent dimension"), `${shape.width} × ${shape.height} pixels`,
    counted(parameters, "network parameter")];
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

/** The space bar redraws, unless the focused element uses it. A component that is chosen already does not. */
function onKey(event) {
  const user = event.target.closest("button, input, select, textarea, summary, a, [role=switch], dialog");
  const busy = user && !user.matches("[role=radio][aria-checked=true], #redraw");
  if (event.key !== " " || busy || event.ctrlKey || event.metaKey || event.altKey || store.state.view !== "explore") return;
  event.preventDefault();
  if (event.type === "keydown") explore.redraw();
}

/** Control with Z goes back, with Shift or Y forward, unless text is being written. */
function onUndoKey(event) {
  if (!(event.ctrlKey || event.metaKey) || event.target.closest("input:not([type=range]), textarea")) return;
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return;
  event.preventDefault();
  if (key === "y" || event.shiftKey) store.redo();
  else store.undo();
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
byId("undo").addEventListener("click", () => store.undo());
byId("redo").addEventListener("click", () => store.redo());
addEventListener("popstate", () => {
  store.arrived();
  readAddress();
});
addEventListener("keydown", onKey);
addEventListener("keyup", onKey); // some browsers press a button when the key is released
addEventListener("keydown", onUndoKey);
show(byId("all-runs"), /\/run\/[^/]+\/$/.test(location.pathname)); // one run of a folder of them
showTheme(THEMES.includes(keptTheme()) ? keptTheme() : "auto");
watchModel();
