// The controls of one factor: a switch for a named factor with two values, otherwise a strip of its components
// with their mean pictures. The same controls choose what to draw and what to change in an encoded image.

import { getAtlas, getDirections } from "./api.mjs";
import { drawing, element, icon, report, show } from "./dom.mjs";
import { LARGEST_OFFSET } from "./state.mjs";

const MOST_DIRECTIONS = 6;

/** The name of a component in a sentence. */
export function componentLabel(factor, component) {
  return factor.named ? component.name : `component ${component.name}`;
}

function isBinary(factor) {
  return factor.named && factor.components.length === 2;
}

/** The mean pictures of all factors, fetched once per version of the model. */
export class Atlases {
  #atlases = new Map();

  constructor(model) {
    this.model = model;
  }

  /** Draws the mean picture of a component into a canvas once it has arrived. */
  async draw(canvas, factor, index) {
    if (!this.#atlases.has(factor.name)) this.#atlases.set(factor.name, getAtlas(factor.name, this.model.version));
    const { bitmap, columns, count } = await this.#atlases.get(factor.name);
    if (index >= count) return;
    const { width, height } = this.model.shape;
    canvas.width = width;
    canvas.height = height;
    const [left, top] = [(index % columns) * width, Math.floor(index / columns) * height];
    canvas.getContext("2d").drawImage(bitmap, left, top, width, height, 0, 0, width, height);
  }

  thumbnail(factor, index) {
    const canvas = element("canvas", { class: "thumbnail", "aria-hidden": "true", width: 1, height: 1 });
    this.draw(canvas, factor, index).catch(report);
    return canvas;
  }
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

/** Two values: a switch between their pictures. */
class ValueSwitch {
  constructor(factor, atlases, choose) {
    this.factor = factor;
    this.bars = [probabilityBar(), probabilityBar()];
    this.button = element("button", {
      class: "switch", type: "button", role: "switch", "aria-label": factor.name, "aria-checked": "false",
      onclick: () => choose(this.selected === 1 ? 0 : 1),
    }, element("span", { class: "knob", "aria-hidden": "true" }));
    this.sides = factor.components.map((component, index) =>
      element("span", { class: "side", onclick: () => choose(index) }, atlases.thumbnail(factor, index),
        element("span", { class: "side-name" }, component.name), this.bars[index].node));
    this.node = element("div", { class: "value-switch" }, this.sides[0], this.button, this.sides[1]);
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

/** More values: radio buttons in a strip that scrolls sideways. Arrow keys move the choice. */
class ComponentStrip {
  constructor(factor, atlases, choose) {
    this.factor = factor;
    this.choose = choose;
    this.bars = factor.components.map(() => probabilityBar());
    this.options = factor.components.map((component, index) => this.#option(component, index, atlases));
    this.node = element("div", {
      class: "strip", role: "radiogroup", "aria-label": factor.name, onkeydown: (event) => this.#key(event),
    }, ...this.options);
  }

  #option(component, index, atlases) {
    const images = `${Math.round(component.images)} images`;
    const dead = component.living ? "" : ", dead";
    return element("button", {
      class: component.living ? "option" : "option dead", type: "button", role: "radio", "aria-checked": "false",
      tabindex: -1, title: `${componentLabel(this.factor, component)}: ${images}${dead}`,
      "aria-label": `${componentLabel(this.factor, component)}, ${images}${dead}`,
      onclick: () => this.choose(index),
    }, atlases.thumbnail(this.factor, index), element("span", { class: "option-name" }, component.name), this.bars[index].node);
  }

  #key(event) {
    const last = this.options.length - 1;
    const from = this.options.indexOf(document.activeElement);
    const to = {
      ArrowRight: from === last ? 0 : from + 1, ArrowDown: from === last ? 0 : from + 1,
      ArrowLeft: from <= 0 ? last : from - 1, ArrowUp: from <= 0 ? last : from - 1, Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.options[to].focus();
    this.choose(to);
  }

  update(selected, drawn, probabilities) {
    this.node.classList.toggle("drawn", drawn);
    this.options.forEach((option, index) => {
      option.setAttribute("aria-checked", String(index === selected));
      option.tabIndex = index === Math.max(selected, 0) ? 0 : -1;
      show(this.bars[index].node, probabilities !== null);
      if (probabilities) this.bars[index].set(probabilities[index]);
    });
    if (selected !== this.shown && selected >= 0) this.#scrollTo(this.options[selected]);
    this.shown = selected;
  }

  /** Scrolls only the strip; scrollIntoView would scroll the page too. */
  #scrollTo(option) {
    const middle = option.offsetLeft - this.node.offsetLeft - (this.node.clientWidth - option.clientWidth) / 2;
    this.node.scrollLeft = middle;
  }
}

/** Sliders along the dimensions of the current component, sorted by how much they change the picture. */
class Directions {
  constructor(factor, onMove, onReset) {
    Object.assign(this, { factor, onMove, sliders: new Map(), loaded: null, offsets: new Map() });
    this.list = element("div", { class: "sliders" });
    this.summary = element("summary", {}, "Move within");
    this.reset = element("button", { class: "quiet", type: "button", onclick: onReset }, "Reset the sliders");
    this.node = element("details", { class: "directions", ontoggle: () => this.#load() }, this.summary, this.list, this.reset);
  }

  update(component, offsets) {
    this.component = component;
    this.offsets = offsets;
    if (component >= 0) {
      this.summary.textContent = `Move within ${componentLabel(this.factor, this.factor.components[component])}`;
    }
    show(this.reset, offsets.size > 0);
    if (offsets.size > 0 && this.loaded === null) this.node.open = true;
    this.#load();
    for (const [dimension, slider] of this.sliders) slider.set(offsets.get(dimension) ?? 0);
  }

  async #load() {
    const component = this.component;
    if (!this.node.open || !(component >= 0) || this.loaded === component) return;
    this.loaded = component;
    try {
      const { directions } = await getDirections(this.factor.name, component);
      if (this.loaded !== component) return;
      this.sliders.clear();
      directions.slice(0, MOST_DIRECTIONS).forEach((direction, rank) => this.#slider(direction, rank));
      this.list.replaceChildren(...[...this.sliders.values()].map((slider) => slider.node));
    } catch (error) {
      this.loaded = null;
      report(error);
    }
  }

  #slider(direction, rank) {
    const output = element("output", { class: "number" });
    const input = element("input", {
      type: "range", min: -LARGEST_OFFSET, max: LARGEST_OFFSET, step: 0.1,
      "aria-label": `${this.factor.name}, direction ${rank + 1}`,
      oninput: () => this.onMove(direction.dimension, Number(input.value)),
    });
    const set = (value) => {
      input.value = String(value);
      output.textContent = (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(1);
      input.setAttribute("aria-valuetext", `${value.toFixed(1)} standard deviations`);
    };
    const effect = `One standard deviation changes a pixel by ${direction.effect.toFixed(1)} of 255 grey levels`;
    const label = element("span", { class: "slider-name", title: effect }, `direction ${rank + 1}`);
    this.sliders.set(direction.dimension, { node: element("label", { class: "slider" }, label, input, output), set });
    set(this.offsets.get(direction.dimension) ?? 0);
  }
}

function small(name, symbol, title, onclick, attributes = {}) {
  return element("button", { class: "small", type: "button", title, onclick, ...attributes },
    icon(symbol), element("span", {}, name));
}

/**
 * The panel of a factor in the explore view.
 * @param {{choose, any, hold, redraw, move, reset}} actions the first argument of each is the factor
 */
export class FactorPanel {
  constructor(factor, atlases, actions) {
    this.factor = factor;
    const choose = (index) => actions.choose(factor, index);
    this.values = isBinary(factor) ? new ValueSwitch(factor, atlases, choose) : new ComponentStrip(factor, atlases, choose);
    this.directions = new Directions(factor,
      (dimension, value) => actions.move(factor, dimension, value), () => actions.reset(factor));
    this.any = small("Any", "any", "Draw the value from the learned weights", () => actions.any(factor));
    this.hold = small("Hold", "hold", "Keep this factor when the picture is redrawn", () => actions.hold(factor));
    this.redraw = small("Redraw", "redraw", "Redraw this factor only", () => actions.redraw(factor));
    for (const button of [this.any, this.hold, this.redraw]) {
      button.setAttribute("aria-label", `${button.textContent}: ${factor.name}`);
    }
    this.note = element("span", { class: "note" });
    const heading = element("h3", {}, factor.name);
    this.node = element("section", { class: isBinary(factor) ? "panel binary" : "panel", "aria-label": factor.name },
      element("div", { class: "panel-head" }, element("div", { class: "panel-title" }, heading, this.note),
        element("div", { class: "panel-actions" }, this.any, this.hold, this.redraw)),
      this.values.node, this.directions.node);
    this.node.dataset.factor = factor.name;
  }

  /** @param {number} component of the picture; -1 before there is a picture */
  update(choice, component) {
    const free = choice.component === null;
    this.values.update(component, free, null);
    this.any.setAttribute("aria-pressed", String(free));
    this.hold.setAttribute("aria-pressed", String(choice.held));
    this.node.classList.toggle("held", choice.held);
    this.directions.update(component, choice.offsets);
    this.note.textContent = factorNote(this.factor, choice, component);
  }
}

function factorNote(factor, choice, component) {
  if (component < 0) return "";
  const how = choice.held ? "held" : choice.component === null ? "drawn" : "chosen";
  return factor.named ? how : `${factor.components[component].name}, ${how}`;
}

/** The panel of a factor of an encoded image: the probabilities of its components, and the change to it. */
export class CodePanel {
  constructor(factor, atlases, actions) {
    this.factor = factor;
    const choose = (index) => actions.choose(factor, index);
    this.values = isBinary(factor) ? new ValueSwitch(factor, atlases, choose) : new ComponentStrip(factor, atlases, choose);
    this.note = element("span", { class: "note" });
    this.undo = small("Undo", "undo", "Undo this change", () => actions.undo(factor), { "aria-label": `Undo: ${factor.name}` });
    this.node = element("section", { class: isBinary(factor) ? "panel binary" : "panel", "aria-label": factor.name },
      element("div", { class: "panel-head" }, element("div", { class: "panel-title" }, element("h3", {}, factor.name), this.note),
        element("div", { class: "panel-actions" }, this.undo)),
      this.values.node);
    this.node.dataset.factor = factor.name;
  }

  /**
   * @param {number} original most likely component of the image
   * @param {number|null} changed component to change to
   * @param {number[]|null} probabilities of all components; null if the image itself is not available
   */
  update(original, changed, probabilities) {
    this.values.update(changed ?? original, false, probabilities);
    show(this.undo, changed !== null);
    const name = (index) => this.factor.components[index]?.name ?? "?";
    const seen = probabilities ? `${name(original)} (${percent(probabilities[original])})` : name(original);
    this.note.textContent = changed === null ? seen : `${seen} → ${name(changed)}`;
  }
}
