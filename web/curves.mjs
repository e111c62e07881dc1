// Line charts in SVG: a few curves over training steps, with the phases in the background. The bound is so low in
// its first steps that it would flatten the rest of the curve, so those steps may lie outside the chart.

import { drawing, element, show } from "./dom.mjs";

const HEIGHT = 190;
const MARGIN = { left: 48, right: 12, top: 24, bottom: 24 };
/** Pixels between curves that would otherwise cover each other. */
const APART = 2;

/**
 * @typedef {object} Curve
 * @property {string} name
 * @property {[number, number][]} points  step and value; a value that is not finite leaves a gap
 * @property {boolean} [marks]            draw separate marks instead of a line
 */

/** Round values for the ticks of an axis. */
export function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const values = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) {
    values.push(Number(value.toPrecision(12)));
  }
  return values;
}

/** The range of values to show: all of them, unless a few are far below the others. */
export function valueRange(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return [0, 1];
  const quantile = (share) => sorted[Math.floor(share * (sorted.length - 1))];
  let [low, high] = [sorted[0], sorted[sorted.length - 1]];
  if (high - low > 2 * (high - quantile(0.12))) low = quantile(0.12);
  const space = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - space, high + space];
}

export function shortNumber(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(size >= 100 ? 4 : 3)));
}

/** The path of a curve, with gaps where values are missing. */
export function pathOf(points, x, y) {
  let path = "";
  let drawingLine = false;
  for (const [step, value] of points) {
    if (!Number.isFinite(value)) drawingLine = false;
    else {
      path += `${drawingLine ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
      drawingLine = true;
    }
  }
  return path;
}

let charts = 0;

export class Chart {
  /** @param {boolean} apart for curves of small integers, which would cover each other */
  constructor(title, unit, apart = false) {
    this.title = title;
    this.apart = apart;
    this.width = 0;
    this.clip = `chart-${++charts}`;
    this.svg = drawing("svg", { role: "img", class: "chart", height: HEIGHT });
    this.legend = element("div", { class: "legend" });
    this.readout = element("span", { class: "readout number" });
    const caption = element("figcaption", {},
      element("strong", {}, title), element("span", { class: "note" }, unit), this.readout);
    this.node = element("figure", { class: "chart-figure" }, caption, this.svg, this.legend);
    this.svg.addEventListener("pointermove", (event) => this.#point(event));
    this.svg.addEventListener("pointerleave", () => this.#leave());
    new ResizeObserver(() => this.#draw()).observe(this.svg);
  }

  /**
   * @param {Curve[]} curves
   * @param {{name: string, first: number, last: number}[]} phases
   */
  update(curves, phases) {
    this.curves = curves.filter((curve) => curve.points.some(([, value]) => Number.isFinite(value)));
    this.phases = phases;
    this.width = 0;
    show(this.node, this.curves.length > 0);
    this.#draw();
    this.svg.setAttribute("aria-label", `${this.title}: ${this.#summary()}`);
    this.legend.replaceChildren(...(this.curves.length < 2 ? [] : this.curves.map((curve, index) =>
      element("span", { class: `key series-${index % 8}` }, curve.name))));
  }

  /** Draws for the available width, so that text keeps its size on a phone. */
  #draw() {
    const width = Math.round(this.svg.clientWidth);
    if (!this.curves || width < 2 * MARGIN.left || width === this.width) return;
    this.width = width;
    const phases = this.phases;
    const last = Math.max(1, ...phases.map((phase) => phase.last));
    const values = this.curves.flatMap((curve) => curve.points.map(([, value]) => value));
    const [low, high] = valueRange(this.apart ? [0, ...values] : values);
    this.x = (step) => MARGIN.left + ((this.width - MARGIN.left - MARGIN.right) * step) / last;
    this.y = (value) => HEIGHT - MARGIN.bottom - ((HEIGHT - MARGIN.top - MARGIN.bottom) * (value - low)) / (high - low);
    this.last = last;
    this.cursor = drawing("line", { class: "cursor", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, x1: -9, x2: -9 });
    this.svg.replaceChildren(this.#clipPath(), ...this.#phases(phases), ...this.#axes(low, high, last), this.#lines(), this.cursor);
  }

  #clipPath() {
    const height = HEIGHT - MARGIN.top - MARGIN.bottom + 6; // so that a mark at the edge is not cut off
    const area = { x: MARGIN.left, y: MARGIN.top - 6, width: this.width - MARGIN.left, height };
    return drawing("clipPath", { id: this.clip }, drawing("rect", area));
  }

  #phases(phases) {
    return phases.flatMap((phase, index) => {
      const [left, right] = [this.x(phase.first), this.x(phase.last)];
      const area = { x: left, y: MARGIN.top, width: Math.max(0, right - left), height: HEIGHT - MARGIN.top - MARGIN.bottom };
      const parts = [drawing("rect", { ...area, class: `phase phase-${index % 2}` })];
      if (right - left > 7 * phase.name.length) {
        parts.push(drawing("text", { x: left + 4, y: MARGIN.top - 8, class: "phase-name" }, phase.name));
      }
      return parts;
    });
  }

  #axes(low, high, last) {
    const bottom = HEIGHT - MARGIN.bottom;
    const rows = ticks(low, high, 4).flatMap((value) => [
      drawing("line", { class: "rule", x1: MARGIN.left, x2: this.width - MARGIN.right, y1: this.y(value), y2: this.y(value) }),
      drawing("text", { class: "tick", x: MARGIN.left - 8, y: this.y(value) + 4, "text-anchor": "end" }, shortNumber(value)),
    ]);
    const columns = ticks(0, last, 5).map((step) =>
      drawing("text", { class: "tick", x: this.x(step), y: bottom + 17, "text-anchor": "middle" }, shortNumber(step)));
    return [...rows, ...columns];
  }

  #lines() {
    const shapes = this.curves.flatMap((curve, index) => {
      const shift = this.apart ? APART * (index - (this.curves.length - 1) / 2) : 0;
      const place = (value) => this.y(value) - shift;
      if (!curve.marks) return [drawing("path", { class: `line series-${index % 8}`, d: pathOf(curve.points, this.x, place) })];
      return curve.points.map(([step, value]) =>
        drawing("circle", { class: `mark series-${index % 8}`, cx: this.x(step), cy: this.y(value), r: 4 }));
    });
    return drawing("g", { "clip-path": `url(#${this.clip})` }, ...shapes);
  }

  #summary() {
    const last = this.curves.map((curve) => {
      const [step, value] = curve.points.filter((point) => Number.isFinite(point[1])).at(-1);
      return `${curve.name} ${shortNumber(value)} at step ${step}`;
    });
    return last.join(", ") || "nothing yet";
  }

  /** Shows the values at the pointer. */
  #point(event) {
    if (!this.curves) return;
    const area = this.svg.getBoundingClientRect();
    const at = ((event.clientX - area.left) / area.width) * this.width;
    const step = ((at - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right)) * this.last;
    const nearest = (points) =>
      points.reduce((best, point) => (Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best));
    const values = this.curves.filter((curve) => !curve.marks).map((curve) => nearest(curve.points));
    if (values.length === 0) return;
    this.cursor.setAttribute("x1", this.x(values[0][0]));
    this.cursor.setAttribute("x2", this.x(values[0][0]));
    const numbers = values.map(([, value]) => (Number.isFinite(value) ? shortNumber(value) : "–"));
    this.readout.textContent = `step ${values[0][0]}: ${numbers.join(" · ")}`;
  }

  #leave() {
    this.readout.textContent = "";
    this.cursor?.setAttribute("x1", -9);
    this.cursor?.setAttribute("x2", -9);
  }
}
