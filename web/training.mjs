// The third view: a training run while it runs, read from its folder alone. The page requests new lines of metrics
// while the view is visible and the run is not finished.

import { Newest, decode, generate, getMetrics } from "./api.mjs";
import { Checkpoints } from "./checkpoints.mjs";
import { Chart, ChartGroup, shortNumber } from "./curves.mjs";
import { byId, element, report, show } from "./dom.mjs";
import { speedText } from "./explore.mjs";
import { onOneAxis, progress, sentence } from "./phases.mjs";

const INTERVAL = 2000;
const SAMPLES = 24;

/** Standard normal numbers; the same seed gives the same numbers. */
export function standardNormal(count, seed) {
  let word = seed >>> 0;
  const uniform = () => {
    word = (word + 0x6d2b79f5) >>> 0; // the mulberry32 generator
    let mixed = Math.imul(word ^ (word >>> 15), word | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return Array.from({ length: count }, () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()));
}

export class TrainingView {
  constructor(store) {
    this.store = store;
    this.records = [];
    this.samples = new Newest(report);
    const group = new ChartGroup();
    this.charts = {
      elbo: new Chart("Bound", "nats per image, higher is better", false, group),
      reconstruction: new Chart("Reconstruction", "nats per image", false, group),
      kl: new Chart("KL terms", "nats per image, the cost of the code", false, group),
      living: new Chart("Living components", "components, with more than one image", true, group),
      perplexity: new Chart("Perplexity", "components, in use by weight", false, group),
      factors: new Chart("KL[z] by factor", "nats per image, information in each factor", false, group),
    };
    this.checkpoints = new Checkpoints(group);
    byId("charts").replaceChildren(...Object.values(this.charts).map((chart) => chart.node));
    document.addEventListener("visibilitychange", () => this.update(store.state));
    byId("fresh").addEventListener("click", () => this.#showSamples(++this.seed));
    this.seed = 1;
    byId("smoothing").addEventListener("input", (event) => group.set({ smoothing: Number(event.target.value) }));
    byId("log-steps").addEventListener("click", () => {
      group.set({ logarithmic: !group.logarithmic });
      byId("log-steps").setAttribute("aria-checked", String(group.logarithmic));
    });
    byId("all-steps").addEventListener("click", () => group.set({ range: null }));
    group.onChange = () => show(byId("all-steps"), group.range !== null);
  }

  setModel(model) {
    this.model = model;
    this.version = null;
    show(byId("side-panel"), true);
  }

  update(state) {
    const looked = state.view === "training" && !document.hidden;
    if (looked && !this.timer && !this.polling && !this.finished) this.#poll();
    if (!looked) {
      clearTimeout(this.timer);
      this.timer = null;
    }
    if (looked && this.model && this.version !== this.model.version) this.#showSamples(++this.seed);
  }

  async #poll() {
    this.polling = true; // a request is under way
    try {
      let metrics;
      do {
        metrics = await getMetrics(this.records.length);
        if (metrics.restarted) this.records = [];
        this.records.push(...metrics.records);
      } while (metrics.more);
      this.#show(metrics);
      this.finished = metrics.training.state === "finished";
    } catch (error) {
      report(error);
    }
    this.polling = false;
    const looked = this.store.state.view === "training" && !document.hidden;
    this.timer = looked && !this.finished ? setTimeout(() => this.#poll(), INTERVAL) : null;
  }

  #show({ training, living }) {
    const { records, phases } = onOneAxis(this.records);
    byId("training-state").textContent = [sentence(training), speedText(training)].filter(Boolean).join(". ");
    byId("training-progress").value = progress(training);
    show(byId("training-progress"), training.state !== "finished");
    show(byId("no-metrics"), records.length === 0);
    const steps = records.filter((record) => !record.valid);
    const valid = records.filter((record) => record.valid);
    const curve = (name, key) => ({ name, points: steps.map((record) => [record.at, record[key] ?? NaN]) });
    const marks = (key) => ({ name: "valid", marks: true, points: valid.map((record) => [record.at, record.valid[key] ?? NaN]) });
    this.charts.elbo.update([curve("train", "elbo"), marks("elbo")], phases);
    this.charts.reconstruction.update([curve("train", "reconstruction"), marks("reconstruction")], phases);
    this.charts.kl.update([curve("KL[z]", "kl_z"), curve("KL[r]", "kl_r")], phases);
    const names = [...new Set(steps.flatMap((record) => record.factors?.map((factor) => factor.name) ?? []))];
    const byFactor = (key) => names.map((name) => ({
      name, points: steps.map((record) => [record.at, record.factors?.find((factor) => factor.name === name)?.[key] ?? NaN]),
    }));
    this.charts.living.update(byFactor("living"), phases);
    this.charts.perplexity.update(byFactor("perplexity"), phases);
    this.charts.factors.update(byFactor("kl_z"), phases);
    this.#showLiving(living, steps.at(-1));
    this.checkpoints.update(phases);
  }

  #showLiving(living, record) {
    const rows = living.map(({ name, living: count }) => {
      const components = this.model?.factors.find((factor) => factor.name === name)?.components.length;
      const factor = record?.factors?.find((candidate) => candidate.name === name);
      return element("tr", {}, element("th", { scope: "row" }, name),
        element("td", {}, components ? `${count} of ${components}` : String(count)),
        element("td", {}, factor ? shortNumber(factor.perplexity) : "–"),
        element("td", {}, factor ? shortNumber(factor.kl_z) : "–"));
    });
    show(byId("living"), rows.length > 0);
    byId("living-rows").replaceChildren(...rows);
  }

  /** Samples from the prior; before the components are initialised, decoded standard normal vectors. */
  #showSamples(seed) {
    const model = this.model;
    if (!model) return;
    this.version = model.version;
    this.samples.request(async (signal) => {
      const seeds = Array.from({ length: SAMPLES }, (_, index) => 1000 * seed + index);
      const { images } = model.placed
        ? await generate(seeds.map((one) => ({ seed: one })), 1, signal)
        : await decode(seeds.map((one) => standardNormal(model.latents, one)), 1, signal);
      byId("samples").replaceChildren(...images.map((image, index) =>
        element("img", { src: "data:image/png;base64," + image.png, alt: `Sample ${index + 1}` })));
      byId("samples-note").textContent = model.placed ? "New samples from the current model"
        : "The mixtures are not initialised yet: these are decoded standard normal vectors";
    });
  }
}
