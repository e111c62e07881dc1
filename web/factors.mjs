// The panel of one factor: its values to choose from (values.mjs, strip.mjs), the directions within the current component, and what
// redrawing does to it. The same values choose what to draw and what to change in an encoded image.

import { getDirections } from "./api.mjs";
import { element, icon, report, setText, show } from "./dom.mjs";
import { LARGEST_OFFSET } from "./state.mjs";
import { ComponentStrip } from "./strip.mjs";
import { ValueSwitch, componentLabel, isBinary, percent } from "./values.mjs";

const MOST_DIRECTIONS = 6;

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
      setText(this.summary, `Move within “${componentLabel(this.factor, this.factor.components[component])}”`);
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

/** The controls that suit a factor. @param {boolean} coded whether they show probabilities too */
function valuesOf(factor, atlases, choose, coded) {
  return isBinary(factor) ? new ValueSwitch(factor, atlases, choose) : new ComponentStrip(factor, atlases, choose, coded);
}

function small(name, symbol, title, onclick, attributes = {}) {
  return element("button", { class: "small", type: "button", title, onclick, ...attributes },
    icon(symbol), element("span", {}, name));
}

/**
 * The panel of a factor in the explore view.
 * @param {{choose, any, hold, redraw, move, reset, rename?}} actions the first argument of each is the factor; names cannot be
 *   changed without `rename`
 */
export class FactorPanel {
  constructor(factor, atlases, actions) {
    this.factor = factor;
    const choose = (index) => actions.choose(factor, index);
    this.values = valuesOf(factor, atlases, choose, false);
    this.directions = new Directions(factor,
      (dimension, value) => actions.move(factor, dimension, value), () => actions.reset(factor));
    this.any = small("Any", "any", "Draw the value from the learned weights", () => actions.any(factor));
    this.hold = small("Hold", "hold", "Keep this factor when the picture is redrawn", () => actions.hold(factor));
    this.redraw = small("Redraw", "redraw", "Redraw this factor only", () => actions.redraw(factor));
    for (const button of [this.any, this.hold, this.redraw]) {
      button.setAttribute("aria-label", `${button.textContent}: ${factor.name}`);
    }
    this.note = element("span", { class: "note" });
    const heading = element("h3", {}, actions.rename ? element("button", {
      type: "button", title: "Name this factor or the component that is shown", "aria-label": `Rename ${factor.name}`, onclick: () => actions.rename(factor),
    }, factor.name) : factor.name);
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
    this.any.setAttribute("aria-pressed", String(free && !choice.held));
    this.hold.setAttribute("aria-pressed", String(choice.held));
    this.node.classList.toggle("held", choice.held);
    this.directions.update(component, choice.offsets);
    setText(this.note, factorNote(this.factor, choice, component));
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
    this.values = valuesOf(factor, atlases, choose, true);
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
    setText(this.note, changed === null ? seen : `${seen} → ${name(changed)}`);
  }
}
