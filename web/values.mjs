// The values of one factor to choose from: a switch for a named factor with two values, otherwise its components with
// their pictures, in a strip or, if there are many, on a wall. Those of a free factor are sorted by their share of the images,
// and dead ones are folded away.

import { getStatements } from "./api.mjs";
import { counted, drawing, element, pixelsOf, report, show } from "./dom.mjs";
import { similarityOrder, squaredDistances } from "./projection.mjs";

/** Living components that fit into a strip; more are a wall. */
const LONGEST_STRIP = 24;

/** The name of a component in a sentence. */
export function componentLabel(factor, component) {
  return factor.named || component.name !== String(component.index) ? component.name : `component ${component.name}`;
}

export function isBinary(factor) {
  return factor.named && factor.components.length === 2;
}

/** The controls that suit a factor. */
export function valuesOf(factor, atlases, choose) {
  return isBinary(factor) ? new ValueSwitch(factor, atlases, choose) : new ComponentStrip(factor, atlases, choose);
}

/** Indices of the components by share; the values of a named factor stay in their own order. */
export function byShare(factor, components = factor.components) {
  const sorted = factor.named ? components : [...components].sort((a, b) => b.weight - a.weight);
  return sorted.map((component) => component.index);
}

/** A bar that shows the probability of a component. */
function probabilityBar() {
  const bar = drawing("rect", { class: "bar-value", x: 0, y: 0, width: 0, height: 4 });
  const picture = drawing("svg", { class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, bar);
  const text = element("span", { class: "bar-text" });
  return {
    node: element("span", { class: "probability" }, picture, text),
    set(probability) {
      bar.setAttribute("width", String(100 * probability));
      text.textContent = percent(probability);
    },
  };
}

export function percent(probability) {
  if (probability < 0.001) return "< 0.1 %";
  if (probability >= 0.9995) return "100 %";
  const nearEdge = probability < 0.0995 || probability > 0.9;
  return `${(100 * probability).toFixed(nearEdge ? 1 : 0)} %`;
}

/** A bar that shows the share of a component among the images, against the largest share of its factor. */
function shareBar(component, largest) {
  const width = largest > 0 ? (100 * component.weight) / largest : 0;
  return drawing("svg", { class: "bar share", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    drawing("rect", { class: "bar-value", x: 0, y: 0, width, height: 4 }));
}

/** A thumbnail that shows the mean picture again. */
function showMean(atlases, canvas, factor, index) {
  delete canvas.dataset.live;
  atlases.draw(canvas, factor, index).catch(report);
}

/** Two values: a switch between their pictures. */
class ValueSwitch {
  constructor(factor, atlases, choose) {
    this.factor = factor;
    this.bars = [probabilityBar(), probabilityBar()];
    this.button = element("button", {
      class: "switch", type: "button", role: "switch", "aria-label": factor.name, "aria-checked": "false",
      onclick: () => choose(this.selected === 1 ? 0 : 1),
    }, element("span", { class: "knob", "aria-hidden": "true" }));
    this.atlases = atlases;
    this.thumbnails = factor.components.map((_, index) => atlases.thumbnail(factor, index));
    this.sides = factor.components.map((component, index) =>
      element("span", { class: "side", onclick: () => choose(index) }, this.thumbnails[index],
        element("span", { class: "side-name" }, component.name), this.bars[index].node));
    this.node = element("div", { class: "value-switch" }, this.sides[0], this.button, this.sides[1]);
  }

  visibleOptions() {
    return this.thumbnails.map((canvas, index) => ({ index, canvas }));
  }

  showMeans() {
    this.thumbnails.forEach((canvas, index) => showMean(this.atlases, canvas, this.factor, index));
  }

  update(selected, drawn, probabilities) {
    this.selected = selected;
    this.button.setAttribute("aria-checked", String(selected === 1));
    this.button.setAttribute("aria-description", this.factor.components[selected]?.name ?? "not drawn yet");
    this.node.classList.toggle("drawn", drawn);
    this.sides.forEach((side, index) => side.classList.toggle("selected", index === selected));
    this.bars.forEach((bar, index) => {
      show(bar.node, probabilities !== null);
      if (probabilities) bar.set(probabilities[index]);
    });
  }
}

/** More values: radio buttons, in a strip that scrolls sideways or on a wall. Arrow keys move the choice. */
class ComponentStrip {
  constructor(factor, atlases, choose) {
    Object.assign(this, { factor, choose, atlases });
    this.bars = factor.components.map(() => probabilityBar());
    const largest = Math.max(...factor.components.map((component) => component.weight));
    this.thumbnails = factor.components.map((component) => atlases.thumbnail(factor, component.index));
    this.options = factor.components.map((component, index) => this.#option(component, index, largest));
    const living = factor.components.filter((component) => factor.named || component.living);
    this.dead = factor.components.filter((component) => !factor.named && !component.living).map((component) => component.index);
    this.order = byShare(factor, living.length > 0 ? living : factor.components);
    if (living.length === 0) this.dead = [];
    this.isWall = this.order.length > LONGEST_STRIP;
    this.group = element("div", {
      class: this.isWall ? "strip wall" : "strip", role: "radiogroup", "aria-label": factor.name, onkeydown: (event) => this.#key(event),
    });
    this.fold = element("button", { class: "small fold", type: "button", onclick: () => this.#unfold(!this.unfolded) });
    this.node = element("div", { class: "values" }, ...(this.isWall ? [this.#tools()] : []), this.group, this.fold);
    this.#arrange();
  }

  #option(component, index, largest) {
    const name = componentLabel(this.factor, component);
    const images = `${counted(Math.round(component.images), "image")}, ${percent(component.weight)} of all`;
    const dead = component.living ? "" : ", dead";
    return element("button", {
      class: component.living ? "option" : "option dead", type: "button", role: "radio", "aria-checked": "false",
      tabindex: -1, title: `${name}: ${images}${dead}`, "aria-label": `${name}, ${images}${dead}`,
      onclick: () => this.choose(index),
    }, this.thumbnails[index], element("span", { class: "option-name" }, component.name), shareBar(component, largest),
    this.bars[index].node);
  }

  /** Search and order of a wall. */
  #tools() {
    this.search = element("input", {
      type: "search", placeholder: "number or name", "aria-label": `Search the components of ${this.factor.name}`, oninput: () => this.#arrange(),
    });
    this.sorting = element("select", { "aria-label": `Order of the components of ${this.factor.name}`, onchange: () => this.#sort() },
      element("option", { value: "share" }, "by share"), element("option", { value: "number" }, "by number"),
      element("option", { value: "similarity" }, "by similarity"), element("option", { value: "label" }, "by label"));
    this.found = element("span", { class: "note", role: "status" });
    return element("div", { class: "wall-tools" }, this.search, this.sorting, this.found);
  }

  async #sort() {
    if (this.sorting.value === "similarity" && !this.similar) await this.#compare().catch(report);
    if (this.sorting.value === "label" && !this.labelled) await this.#askLabels().catch(report);
    this.#arrange();
  }

  /** The order by what labels say most of each component, which its title then names; those of which they say nothing come last. */
  async #askLabels() {
    const { factors } = await getStatements();
    const components = factors.find(({ name }) => name === this.factor.name)?.components ?? [];
    const said = this.order.map((index) => ({ index, says: components[index]?.says[0] }));
    const known = said.filter(({ says }) => says);
    for (const { index, says } of known) this.options[index].title += `; ${says.property}: ${says.value} ${percent(says.share)}`;
    known.sort((a, b) => a.says.property.localeCompare(b.says.property) || a.says.value.localeCompare(b.says.value) || b.says.share - a.says.share);
    this.labelled = [...known, ...said.filter(({ says }) => !says)].map(({ index }) => index);
    if (known.length === 0) this.found.textContent = "no labels";
  }

  /** The order in which neighbours have mean pictures that are alike. */
  async #compare() {
    const pixels = await Promise.all(this.order.map(async (index) => {
      const canvas = element("canvas", { width: 1, height: 1 });
      await this.atlases.draw(canvas, this.factor, index);
      return pixelsOf(canvas);
    }));
    this.similar = similarityOrder(squaredDistances(pixels), pixels.length).map((place) => this.order[place]);
  }

  #sorted(indices) {
    const chosen = this.sorting?.value ?? "share";
    if (chosen === "number") return [...indices].sort((a, b) => a - b);
    return { similarity: this.similar, label: this.labelled }[chosen] ?? indices;
  }

  /** Puts the wanted options into the group, in their order. */
  #arrange() {
    const wanted = this.search?.value.trim().toLowerCase() ?? "";
    const fits = (index) => {
      const { name } = this.factor.components[index];
      return wanted === "" || String(index) === wanted || name.toLowerCase().includes(wanted);
    };
    this.visible = [...this.#sorted(this.order), ...(this.unfolded || wanted !== "" ? this.dead : [])].filter(fits);
    this.group.replaceChildren(...this.visible.map((index) => this.options[index]));
    show(this.group, this.visible.length > 0);
    if (this.found && wanted !== "") this.found.textContent = `${this.visible.length} found`;
    else if (this.found && this.sorting.value !== "label") this.found.textContent = "";
    show(this.fold, this.dead.length > 0 && wanted === "");
    this.fold.setAttribute("aria-expanded", String(this.unfolded === true));
    this.fold.textContent = `${this.unfolded ? "Hide" : "Show"} ${counted(this.dead.length, "dead component")}`;
    this.#focusable();
  }

  #unfold(open) {
    this.unfolded = open;
    this.#arrange();
  }

  #key(event) {
    const last = this.visible.length - 1;
    const from = this.visible.findIndex((index) => this.options[index] === document.activeElement);
    const to = {
      ArrowRight: from === last ? 0 : from + 1, ArrowDown: from === last ? 0 : from + 1,
      ArrowLeft: from <= 0 ? last : from - 1, ArrowUp: from <= 0 ? last : from - 1, Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.options[this.visible[to]].focus();
    this.choose(this.visible[to]);
  }

  visibleOptions() {
    return this.visible.map((index) => ({ index, canvas: this.thumbnails[index] }));
  }

  showMeans() {
    this.thumbnails.filter((canvas) => canvas.dataset.live)
      .forEach((canvas) => showMean(this.atlases, canvas, this.factor, this.thumbnails.indexOf(canvas)));
  }

  #focusable() {
    const first = this.visible.includes(this.shown) ? this.shown : this.visible[0];
    this.options.forEach((option, index) => (option.tabIndex = index === first ? 0 : -1));
  }

  update(selected, drawn, probabilities) {
    if (this.dead.includes(selected) && !this.unfolded) this.#unfold(true);
    this.group.classList.toggle("drawn", drawn);
    this.group.classList.toggle("with-probabilities", probabilities !== null);
    this.options.forEach((option, index) => {
      option.setAttribute("aria-checked", String(index === selected));
      show(this.bars[index].node, probabilities !== null);
      if (probabilities) this.bars[index].set(probabilities[index]);
    });
    const moved = selected !== this.shown;
    this.shown = selected;
    this.#focusable();
    if (moved && this.visible.includes(selected)) this.#scrollTo(this.options[selected]);
  }

  /** Scrolls only the strip; scrollIntoView would scroll the page too. */
  #scrollTo(option) {
    const group = this.group;
    group.scrollLeft = option.offsetLeft - group.offsetLeft - (group.clientWidth - option.clientWidth) / 2;
    if (this.isWall) group.scrollTop = option.offsetTop - group.offsetTop - (group.clientHeight - option.clientHeight) / 2;
  }
}
