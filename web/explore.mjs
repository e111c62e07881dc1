// The first view: one large picture, its factors beside it, and a pinned picture for comparison.

import { Newest, generate, getReconstructions } from "./api.mjs";
import { Combinations } from "./combinations.mjs";
import { waitForPicture } from "./connection.mjs";
import { announce, byId, copy, counted, download, element, fileName, replacePanels, report, show, showCommand, showPicture } from "./dom.mjs";
import { FactorPanel } from "./factors.mjs";
import { LiveThumbnails } from "./live.mjs";
import { Neighbours } from "./neighbours.mjs";
import { Paths } from "./paths.mjs";
import {
  choiceOf, choose, differences, move, pictureKey, redrawAll, redrawFactor, toRequest, toggleHold, withChoice,
} from "./state.mjs";

/** Downloaded pictures have a scale that gives their shorter side about this many pixels. */
const DOWNLOAD_SIDE = 512;

/** How many times the model's pixels are repeated in a downloaded picture. */
export function downloadScale(shape) {
  return Math.max(1, Math.min(16, Math.floor(DOWNLOAD_SIDE / Math.min(shape.width, shape.height))));
}

/** "12 steps per second, 3 minutes left in this phase." */
export function speedText({ steps_per_second: speed, seconds_left: left }) {
  if (!speed) return "";
  const rate = speed >= 10 ? Math.round(speed) : speed.toFixed(1);
  const time = left < 90 ? counted(Math.round(left), "second") : left < 5400 ? counted(Math.round(left / 60), "minute") : counted(Math.round(left / 3600), "hour");
  return `${rate} steps per second, ${time} left in this phase.`;
}

/** A random seed that is short enough to read in an address. */
function newSeed() {
  return 1 + Math.floor(99999 * Math.random());
}

/** The picture in words, for screen readers. */
function description(components, model) {
  const words = model.factors.map((factor) => `${factor.name} ${factor.components[components[factor.name]]?.name ?? "?"}`);
  return `Generated picture: ${words.join(", ")}`;
}

export class Explore {
  /** @param {NameDialog} names */
  constructor(store, names) {
    Object.assign(this, { store, names });
    this.panels = [];
    this.shown = null;
    this.pinned = null;
    this.pictures = new Newest((error) => {
      this.failed = true;
      waitForPicture(false);
      byId("picture").setAttribute("aria-busy", String(error.isConnection ?? false));
      report(error);
    });
    this.neighbours = new Neighbours("nearest");
    this.pairs = new Newest(report);
    this.combinations = new Combinations(store);
    this.thumbnails = new LiveThumbnails(store);
    this.paths = new Paths(store, () => this.scale);
    byId("redraw").addEventListener("click", () => this.redraw());
    byId("pin").addEventListener("click", () => this.pin());
    byId("unpin").addEventListener("click", () => this.#set({ pinned: null }));
    byId("swap").addEventListener("click", () => this.#swap());
    byId("download").addEventListener("click", () => this.#download());
    byId("copy-command").addEventListener("click", () => copy(byId("command").textContent, "Command"));
    byId("temperature").addEventListener("input", (event) => this.#temperature(Number(event.target.value)));
    byId("seed").addEventListener("change", (event) => this.#seed(event.target));
    byId("smooth").addEventListener("click", () => this.#set({ smooth: !store.state.smooth }));
  }

  /** @param {boolean} write whether factors and components may be named */
  setModel(model, atlases, hasNearest, write) {
    this.model = model;
    this.shown = this.pinned = null;
    this.scale = downloadScale(model.shape);
    this.panels = model.factors.map((factor) => new FactorPanel(factor, atlases, this.#actions(write)));
    replacePanels(byId("factors"), this.panels.map((panel) => panel.node));
    this.combinations.setModel(model);
    this.paths.setModel(model);
    this.neighbours.setModel(model, hasNearest);
    show(byId("not-placed"), !model.placed);
    show(byId("explore-columns"), model.placed);
  }

  /** The speed of a training in phase 1, and reconstructions by its newest model once the data are read. */
  setTraining(training, data) {
    this.neighbours.setData(data);
    byId("phase-one-speed").textContent = speedText(training);
    if (!this.model || this.model.placed || !(data.images > 0) || this.pairsOf === this.model.version) return;
    this.pairsOf = this.model.version;
    this.pairs.request((signal) => this.#showPairs(signal));
  }

  /** Fixed images beside their reconstructions, while there are no components to switch. */
  async #showPairs(signal) {
    const { pairs } = await getReconstructions(signal);
    byId("pairs").replaceChildren(...pairs.map(({ index, image, reconstruction, error }) => element("figure", {},
      element("img", { src: "data:image/png;base64," + image, alt: `Image ${index}` }),
      element("img", { src: "data:image/png;base64," + reconstruction, alt: `Its reconstruction` }),
      element("figcaption", {}, `error ${error.toFixed(1)}`))));
  }

  #actions(write) {
    const changed = (operation, gesture = false) => this.#set({ picture: operation(this.store.state.picture) }, gesture);
    return {
      choose: (factor, index) => changed((picture) => choose(picture, factor.name, factor.components[index].name)),
      any: (factor) => changed((picture) => this.#toggleAny(picture, factor)),
      hold: (factor) => changed((picture) => toggleHold(picture, factor.name)),
      redraw: (factor) => changed((picture) => redrawFactor(picture, factor.name, newSeed())),
      move: (factor, dimension, value) =>
        changed((picture) => move(picture, factor.name, dimension, value), `move ${factor.name} ${dimension}`),
      reset: (factor) => changed((picture) => withChoice(picture, factor.name, { offsets: new Map() })),
      rename: write ? (factor) => this.names.open(factor, this.#component(factor), false) : undefined,
    };
  }

  /** Switches a factor from a chosen or held component to a drawn one, or from a drawn one to the same chosen. */
  #toggleAny(picture, factor) {
    const choice = choiceOf(picture, factor.name);
    if (choice.component !== null || choice.held) {
      return withChoice(picture, factor.name, { component: null, held: false, offsets: new Map() });
    }
    const drawn = factor.components[this.#component(factor)];
    return drawn ? withChoice(picture, factor.name, { component: drawn.name }) : picture;
  }

  #component(factor) {
    return this.shown?.components[factor.name] ?? -1;
  }

  #set(changes, gesture = false) {
    this.store.set({ ...this.store.state, ...changes }, gesture);
  }

  redraw() {
    this.#set({ picture: redrawAll(this.store.state.picture, newSeed()) });
  }

  pin() {
    this.#set({ pinned: this.store.state.picture });
    announce("Pinned: changes are now shown beside this picture");
  }

  #swap() {
    const { picture, pinned } = this.store.state;
    this.#set({ picture: pinned, pinned: picture });
  }

  #temperature(temperature) {
    this.#set({ picture: { ...this.store.state.picture, temperature } }, "temperature");
  }

  #seed(field) {
    const seed = Number(field.value);
    if (!Number.isSafeInteger(seed) || seed < 0 || field.value.trim() === "") {
      announce(`A seed is a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`, true);
      field.value = String(this.store.state.picture.seed);
      return;
    }
    this.#set({ picture: { ...this.store.state.picture, seed } });
  }

  /** Pictures on the page have the model's resolution; a file is requested at its own. */
  async #download() {
    if (!this.shown) return;
    const { picture } = this.shown;
    let png;
    try {
      png = (await generate([toRequest(picture, this.model)], this.scale)).images[0].png;
    } catch (error) {
      report(error);
      return;
    }
    const words = this.model.factors.filter((factor) => factor.named)
      .map((factor) => `${factor.name}-${factor.components[this.#component(factor)]?.name}`);
    download(png, fileName([...words, `seed-${picture.seed}`]));
  }

  update(state) {
    if (!this.model?.placed) return;
    byId("temperature").value = String(state.picture.temperature);
    byId("temperature").setAttribute("aria-valuetext", temperatureText(state.picture.temperature));
    if (document.activeElement !== byId("seed")) byId("seed").value = String(state.picture.seed);
    byId("temperature-value").textContent = state.picture.temperature.toFixed(2);
    byId("smooth").setAttribute("aria-checked", String(state.smooth));
    this.#updatePanels(state.picture);
    this.pictures.request((signal) => this.#draw(state, signal));
    this.combinations.update(state);
  }

  #updatePanels(picture) {
    for (const panel of this.panels) {
      const choice = choiceOf(picture, panel.factor.name);
      const chosen = panel.factor.components.findIndex((component) => component.name === choice.component);
      panel.update(choice, chosen >= 0 ? chosen : this.#component(panel.factor));
    }
  }

  /** Requests the picture and the pinned one, unless they are known already, and shows both. */
  async #draw(state, signal) {
    const wanted = [state.picture, state.pinned].map((picture) => picture && { picture, key: pictureKey(picture, this.model) });
    const known = new Map([this.shown, this.pinned].filter(Boolean).map((result) => [result.key, result]));
    const missing = wanted.filter((want) => want && !known.has(want.key));
    if (missing.length > 0) {
      byId("picture").setAttribute("aria-busy", "true");
      waitForPicture(true);
      const answer = await generate(missing.map((want) => toRequest(want.picture, this.model)), 1, signal, this.scale);
      missing.forEach((want, index) => known.set(want.key, { ...answer.images[index], key: want.key }));
    }
    const [shown, pinned] = wanted.map((want) => want && { ...known.get(want.key), picture: want.picture });
    this.shown = shown;
    this.pinned = pinned;
    await showPicture(byId("picture"), shown.png, state.smooth);
    waitForPicture(false);
    byId("picture").alt = description(shown.components, this.model);
    byId("picture").setAttribute("aria-busy", "false");
    showCommand(byId("command"), shown.command);
    await this.#compare(state.smooth);
    this.#updatePanels(this.store.state.picture);
    this.neighbours.update(shown.z);
    this.paths.update(shown, pinned);
    this.thumbnails.update(state, shown, this.panels, this.model);
    if (this.failed) announce("");
    this.failed = false;
  }

  async #compare(smooth) {
    const { pinned, shown } = this;
    byId("stage").classList.toggle("comparing", pinned !== null);
    for (const id of ["pinned-figure", "differences", "picture-caption"]) show(byId(id), pinned !== null);
    show(byId("pin"), pinned === null);
    if (pinned === null) return;
    await showPicture(byId("pinned-picture"), pinned.png, smooth);
    byId("pinned-picture").alt = "Pinned. " + description(pinned.components, this.model);
    const rows = differences(pinned, shown, this.model).map((row) =>
      element("li", {}, element("strong", {}, row.name), ` ${row.before} → ${row.after}`));
    if (rows.length === 0) rows.push(element("li", {}, "No difference yet. Change something."));
    byId("difference-list").replaceChildren(...rows);
  }
}

function temperatureText(temperature) {
  return `${temperature.toFixed(2)}${temperature === 0 ? ", the mean of every component" : ""}`;
}
