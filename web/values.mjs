// The values of one factor to choose from: their names, shares and probabilities in words and bars, and a switch for a named
// factor with two values. More values are a strip or a wall (strip.mjs).

import { THUMBNAIL } from "./atlases.mjs";
import { drawing, element, report, setText, show } from "./dom.mjs";
import { showAlone } from "./sprites.mjs";

/** The name of a component in a sentence. */
export function componentLabel(factor, component) {
  return factor.named || component.name !== String(component.index) ? component.name : `component ${component.name}`;
}

export function isBinary(factor) {
  return factor.named && factor.components.length === 2;
}

/** Indices of the components by share; the values of a named factor stay in their own order. */
export function byShare(factor, components = factor.components) {
  const sorted = factor.named ? components : [...components].sort((a, b) => b.weight - a.weight);
  return sorted.map((component) => component.index);
}

/** A bar that shows the probability of a component. */
export function probabilityBar() {
  const bar = drawing("rect", { class: "bar-value", x: 0, y: 0, width: 0, height: 4 });
  const picture = drawing("svg", { class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, bar);
  const text = element("span", { class: "bar-text" });
  return {
    node: element("span", { class: "probability" }, picture, text),
    set(probability) {
      bar.setAttribute("width", String(100 * probability));
      setText(text, percent(probability));
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
export function shareBar() {
  const bar = drawing("rect", { class: "bar-value", x: 0, y: 0, width: 0, height: 4 });
  return {
    node: drawing("svg", { class: "bar share", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, bar),
    set: (share) => bar.setAttribute("width", String(100 * share)),
  };
}

/** The largest share of a component of a factor. */
export function largestShare(factor) {
  return Math.max(...factor.components.map((component) => component.weight)) || 1;
}

/** Another picture in a thumbnail than the mean. @param {{address: string, kind: string}} picture @param {object} shape of the model */
export function showLivePicture(thumbnail, { address, kind }, shape) {
  thumbnail.dataset.live = kind;
  showAlone(thumbnail, address, shape, THUMBNAIL);
}

/** Two values: a switch between their pictures. */
export class ValueSwitch {
  constructor(factor, atlases, choose) {
    this.factor = factor;
    this.bars = [probabilityBar(), probabilityBar()];
    this.button = element("button", {
      class: "switch", type: "button", role: "switch", "aria-label": factor.name, "aria-checked": "false",
      onclick: () => choose(this.selected === 1 ? 0 : 1),
    }, element("span", { class: "knob", "aria-hidden": "true" }));
    this.atlases = atlases;
    this.thumbnails = factor.components.map((_, index) => atlases.thumbnail(factor, index));
    this.sides = factor.components.map((component, index) => {
      const share = shareBar();
      share.set(component.weight / largestShare(factor));
      return element("span", { class: "side", onclick: () => choose(index), title: `${component.name}: ${percent(component.weight)} of all images` },
        this.thumbnails[index], element("span", { class: "side-name" }, component.name), share.node, this.bars[index].node);
    });
    this.node = element("div", { class: "value-switch" }, this.sides[0], this.button, this.sides[1]);
  }

  visibleOptions() {
    return [0, 1];
  }

  showLive(index, picture) {
    showLivePicture(this.thumbnails[index], picture, this.atlases.model.shape);
  }

  forgetLive() {} // both stay in view until there are new pictures

  showMeans() {
    this.thumbnails.forEach((thumbnail, index) => {
      if (!thumbnail.dataset.live) return;
      delete thumbnail.dataset.live;
      this.atlases.show(thumbnail, this.factor, index).catch(report);
    });
  }

  update(selected, drawn, probabilities) {
    this.selected = selected;
    this.button.setAttribute("aria-checked", String(selected === 1));
    this.button.setAttribute("aria-description", this.factor.components[selected]?.name ?? "not drawn yet");
    this.node.classList.toggle("drawn", drawn);
    this.node.classList.toggle("with-probabilities", probabilities !== null);
    this.sides.forEach((side, index) => side.classList.toggle("selected", index === selected));
    this.bars.forEach((bar, index) => {
      show(bar.node, probabilities !== null);
      if (probabilities) bar.set(probabilities[index]);
    });
  }
}
