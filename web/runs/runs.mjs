// The page of a folder of runs: their figures in a table, their curves in one chart each, and the same seed or image as each
// model shows it. The server reads a model when its picture is requested and keeps only a few, so pictures are requested one
// run after the other.

import { Chart, ChartGroup } from "../curves.mjs";
import { announce, byId, counted, element, report, show, showPicture } from "../dom.mjs";
import { onOneAxis, sentence } from "../phases.mjs";

const INTERVAL = 4000;
/** Runs that are compared at once: as many as there are colours. */
const MOST_CHOSEN = 8;
const FIRST_CHOSEN = 3;
const TEMPERATURE = 0.7;

/** The choice that an address holds; `runs` is null if it names none. */
export function fromAddress(address) {
  const parts = new URLSearchParams(address.replace(/^#/, ""));
  const seed = Number(parts.get("seed") ?? 1);
  return {
    // A slash separates the names, because no folder's name has one.
    runs: parts.has("runs") ? parts.get("runs").split("/").filter(Boolean).slice(0, MOST_CHOSEN) : null,
    seed: Number.isSafeInteger(seed) && seed >= 0 ? seed : 1,
  };
}

export function toAddress({ runs, seed }) {
  return new URLSearchParams({ runs: runs.join("/"), seed: String(seed) }).toString();
}

/** Runs by name, or by bound with the highest first; those without a bound come last. */
export function sorted(runs, order) {
  const bound = (run) => run.bound?.value ?? -Infinity;
  return order === "name" ? runs : [...runs].sort((a, b) => (bound(b) === bound(a) ? 0 : bound(b) - bound(a)));
}

async function ask(path, options) {
  const response = await fetch(path, options);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}

function runAddress(name, path = "") {
  return `run/${encodeURIComponent(name)}/${path}`;
}

function boundText({ bound }) {
  return Number.isFinite(bound?.value) ? `${bound.value.toFixed(2)} nats (${bound.split})` : "–";
}

function accuracyText({ accuracies = {} }) {
  const parts = Object.entries(accuracies).filter(([, value]) => Number.isFinite(value))
    .map(([name, value]) => `${name} ${(100 * value).toFixed(1)} %`);
  return parts.join(", ") || "–";
}

function livingText({ factors = [] }) {
  return factors.map(({ name, living, components }) => `${name} ${living}${components ? ` of ${components}` : ""}`).join(", ") || "–";
}

function stepText({ training }) {
  const steps = Object.values(training?.phase_steps ?? {}).reduce((sum, count) => sum + count, 0);
  return training?.phase ? `${training.phase} ${training.step.toLocaleString("en")}, ${steps.toLocaleString("en")} in all` : "–";
}

class RunsPage {
  listed = [];
  records = new Map(); // lines of metrics by run
  order = "name";
  image = null;
  drawing = 0; // counts redraws, so that an older one ends

  constructor() {
    const { runs, seed } = fromAddress(location.hash);
    Object.assign(this, { chosen: runs, seed });
    this.group = new ChartGroup();
    this.charts = {
      elbo: new Chart("Bound", "nats per image, higher is better", false, this.group),
      reconstruction: new Chart("Reconstruction", "nats per image", false, this.group),
      kl_z: new Chart("KL[z]", "nats per image, the cost of the code", false, this.group),
      living: new Chart("Living components", "components, of all factors together", true, this.group),
    };
    byId("charts").replaceChildren(...Object.values(this.charts).map((chart) => chart.node));
    this.#listenToCharts();
    for (const order of ["name", "bound"]) byId(`by-${order}`).addEventListener("click", () => this.#sort(order));
    byId("seed").addEventListener("change", (event) => this.#writeSeed(event.target));
    byId("redraw").addEventListener("click", () => this.#choose({ seed: 1 + Math.floor(99999 * Math.random()) }));
    byId("file").addEventListener("change", (event) => this.#setImage(event.target.files[0] ?? null));
    byId("no-image").addEventListener("click", () => this.#setImage(null));
    addEventListener("popstate", () => this.#arrive());
    document.addEventListener("visibilitychange", () => this.watch());
  }

  #listenToCharts() {
    byId("smoothing").addEventListener("input", (event) => this.group.set({ smoothing: Number(event.target.value) }));
    byId("log-steps").addEventListener("click", () => {
      this.group.set({ logarithmic: !this.group.logarithmic });
      byId("log-steps").setAttribute("aria-checked", String(this.group.logarithmic));
    });
    byId("all-steps").addEventListener("click", () => this.group.set({ range: null }));
    this.group.onChange = () => show(byId("all-steps"), this.group.range !== null);
  }

  /** Asks for the runs until the page is closed. */
  async watch() {
    clearTimeout(this.timer);
    if (document.hidden) return;
    try {
      const answer = await ask("api/v1/runs");
      show(byId("connection"), false);
      this.#take(answer);
      await this.#readMetrics();
    } catch (error) {
      if (error instanceof TypeError) show(byId("connection"), true); // there was no answer
      else report(error);
    }
    this.timer = setTimeout(() => this.watch(), INTERVAL);
  }

  #take({ folder, runs, left_out: leftOut, program }) {
    const first = this.listed.length === 0;
    this.listed = runs;
    byId("folder").textContent = folder;
    byId("program").textContent = program;
    document.title = `${folder} – Facet runs`;
    byId("runs-count").textContent = counted(runs.length, "run") + (leftOut > 0 ? `, ${leftOut.toLocaleString("en")} more not listed` : "");
    this.chosen ??= runs.filter((run) => run.state !== "damaged").slice(0, FIRST_CHOSEN).map((run) => run.name);
    this.chosen = this.chosen.filter((name) => runs.some((run) => run.name === name));
    this.#showRows();
    if (first) this.#draw();
  }

  #choose(changes) {
    Object.assign(this, changes);
    history.pushState(null, "", "#" + toAddress({ runs: this.chosen, seed: this.seed }));
    this.#showAll();
  }

  /** The browser has moved in its history. */
  #arrive() {
    const { runs, seed } = fromAddress(location.hash);
    Object.assign(this, { chosen: runs ?? this.chosen, seed });
    this.#showAll();
  }

  #showAll() {
    this.#showRows();
    this.#draw();
    this.#readMetrics().catch(report);
  }

  // The table

  #sort(order) {
    this.order = order;
    for (const each of ["name", "bound"]) byId(`by-${each}`).parentElement.removeAttribute("aria-sort");
    byId(`by-${order}`).parentElement.setAttribute("aria-sort", order === "name" ? "ascending" : "descending");
    this.#showRows();
  }

  #showRows() {
    const focused = document.activeElement?.closest("#rows tr")?.dataset.run;
    const part = document.activeElement?.tagName;
    byId("rows").replaceChildren(...sorted(this.listed, this.order).map((run) => this.#row(run)));
    if (focused) byId("rows").querySelector(`[data-run="${CSS.escape(focused)}"] ${part}`)?.focus();
  }

  #row(run) {
    const place = this.chosen.indexOf(run.name);
    const box = element("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, checked: place >= 0, onchange: () => this.#toggle(run.name) });
    const key = place >= 0 ? element("span", { class: `key series-${place}`, "aria-hidden": "true" }) : null;
    const cells = run.state === "damaged" ? [element("td", { class: "error-text", colspan: 4 }, run.error)]
      : [stepText(run), boundText(run), accuracyText(run), livingText(run)].map((text) => element("td", {}, text));
    if (run.error && run.state !== "damaged") cells.at(-1).append(element("span", { class: "error-text" }, ` ${run.error}`));
    return element("tr", { "data-run": run.name },
      element("td", {}, element("label", { class: "choice" }, box, key)),
      element("th", { scope: "row" }, element("a", { href: runAddress(run.name) }, run.name)),
      element("td", {}, element("span", { class: `status ${run.state}`, title: run.training ? sentence(run.training) : "" }, run.state)),
      ...cells);
  }

  #toggle(name) {
    const without = this.chosen.filter((each) => each !== name);
    if (without.length === this.chosen.length && this.chosen.length >= MOST_CHOSEN) {
      announce(`At most ${MOST_CHOSEN} runs are compared at once`, true);
      this.#showRows();
      return;
    }
    this.#choose({ chosen: without.length < this.chosen.length ? without : [...without, name] });
  }

  // Curves

  /** Reads the lines of metrics that are new in the chosen runs, and draws all curves. */
  async #readMetrics() {
    for (const name of this.chosen) {
      const run = this.listed.find((each) => each.name === name);
      const records = this.records.get(name) ?? [];
      if (!run?.training || run.training.lines === records.length) continue;
      this.records.set(name, await newRecords(name, records));
    }
    this.#drawCurves();
  }

  #drawCurves() {
    const curves = this.chosen.map((name) => ({ name, records: onOneAxis(this.records.get(name) ?? []).records.filter((record) => !record.valid) }));
    const last = Math.max(1, ...curves.flatMap(({ records }) => records.map((record) => record.at)));
    const phases = [{ name: "", first: 0, last }]; // runs may differ in theirs
    const living = (record) => (record.factors ? record.factors.reduce((sum, factor) => sum + factor.living, 0) : NaN);
    for (const [key, chart] of Object.entries(this.charts)) {
      const value = key === "living" ? living : (record) => record[key] ?? NaN;
      chart.update(curves.map(({ name, records }) => ({ name, points: records.map((record) => [record.at, value(record)]) })), phases);
    }
    show(byId("no-metrics"), curves.every(({ records }) => records.length === 0));
  }

  // Pictures

  #writeSeed(field) {
    const seed = Number(field.value);
    if (field.value.trim() === "" || !Number.isSafeInteger(seed) || seed < 0) {
      announce(`A seed is a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`, true);
      field.value = String(this.seed);
      return;
    }
    this.#choose({ seed });
  }

  #setImage(file) {
    this.image = file;
    if (file === null) byId("file").value = "";
    show(byId("no-image"), file !== null);
    this.#draw();
  }

  /** Shows the seed, and the image if there is one, by each chosen model in turn. */
  async #draw() {
    const turn = ++this.drawing;
    byId("seed").value = String(this.seed);
    const cards = this.chosen.map((name) => {
      const body = element("div", { "aria-busy": "true" }, element("p", { class: "note" }, "Reading the model"));
      return { name, body, node: element("article", { "data-run": name }, element("h3", {}, element("a", { href: runAddress(name) }, name)), body) };
    });
    byId("compared").replaceChildren(...cards.map((card) => card.node));
    for (const { name, body } of cards) {
      if (turn !== this.drawing) return;
      const parts = await this.#pictures(name).catch((error) => [element("p", { class: "error-text" }, error.message)]);
      body.replaceChildren(...parts);
      body.setAttribute("aria-busy", "false");
    }
  }

  async #pictures(name) {
    const run = this.listed.find((each) => each.name === name);
    if (run && !run.model) return [element("p", { class: "note" }, "This run has no model yet.")];
    const { model } = await ask(runAddress(name, "api/v1/model"));
    if (!model.placed) return [element("p", { class: "note" }, "This run is in phase 1 of its training: it has no components yet.")];
    const parts = [await this.#sample(name, model)];
    if (this.image) parts.push(...(await this.#encoded(name)));
    return parts;
  }

  async #sample(name, model) {
    const body = JSON.stringify({ states: [{ seed: this.seed, temperature: TEMPERATURE }], scale: 1 });
    const { images } = await ask(runAddress(name, "api/v1/generate"), { method: "POST", headers: { "Content-Type": "application/json" }, body });
    const words = model.factors.map((factor) => `${factor.name} ${factor.components[images[0].components[factor.name]].name}`).join(", ");
    return figure(images[0].png, `Seed ${this.seed} by ${name}: ${words}`, words);
  }

  async #encoded(name) {
    const { input, reconstruction, factors, notice } = await ask(runAddress(name, "api/v1/encode"),
      { method: "POST", headers: { "Content-Type": this.image.type }, body: this.image });
    const words = factors.map((factor) => `${factor.name} ${factor.component} (${Math.round(100 * factor.probability)} %)`).join(", ");
    return [await figure(input, `The image as ${name} sees it`, notice ?? "The image"),
      await figure(reconstruction, `The reconstruction by ${name}: ${words}`, `Reconstruction: ${words}`)];
  }
}

async function figure(png, alt, caption) {
  const image = element("img", { class: "picture", alt });
  await showPicture(image, png, false);
  return element("figure", {}, image, element("figcaption", {}, caption));
}

/** Records with those that the server has beyond them; all anew if the run has begun again. */
async function newRecords(name, records) {
  let [all, answer] = [records, null];
  do {
    answer = await ask(`api/v1/metrics?${new URLSearchParams({ run: name, after: String(all.length) })}`);
    all = [...(answer.restarted ? [] : all), ...answer.records];
  } while (answer.more);
  return all;
}

if (globalThis.document) new RunsPage().watch();
