// Line charts in SVG: a few curves over training steps, with the phases in the background. The charts of a group have one
// cursor, one range of steps and one smoothing. The bound is so low in its first steps that it would flatten the rest of the
// curve, so those steps may lie outside the chart. Plain SVG, because the page loads nothing from elsewhere and needs little.

import { drawing, element, show } from "./dom.mjs";

const HEIGHT = 190;
const MARGIN = { left: 56, right: 16, top: 24, bottom: 40 };
/** Pixels that a pointer moves before it chooses a range of steps. */
const DRAG = 8;
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

/** Points with each value replaced by a moving average of the values before it; 0 leaves them as they are. */
export function smoothed(points, strength) {
  if (strength === 0) return points;
  let [mean, weight] = [0, 0];
  return points.map(([step, value]) => {
    if (!Number.isFinite(value)) return [step, value];
    mean = strength * mean + (1 - strength) * value;
    weight = strength * weight + (1 - strength);
    return [step, mean / weight];
  });
}

/** What charts that belong together share. */
export class ChartGroup {
  charts = [];
  smoothing = 0;
  logarithmic = false;
  range = null;

  set(changes) {
    Object.assign(this, changes);
    for (const chart of this.charts) chart.redraw();
    this.onChange?.();
  }

  point(step) {
    for (const chart of this.charts) chart.point(step);
  }
}

let charts = 0;

export class Chart {
  /** @param {boolean} apart for curves of small integers, which would cover each other */
  constructor(title, unit, apart = false, group = new ChartGroup()) {
    Object.assign(this, { title, apart, group, unit: unit.split(",")[0] });
    group.charts.push(this);
    this.width = 0;
    this.clip = `chart-${++charts}`;
    this.svg = drawing("svg", { role: "img", "aria-label": title, class: "chart", height: HEIGHT });
    this.legend = element("div", { class: "legend" });
    this.readout = element("span", { class: "readout number" });
    const caption = element("figcaption", {},
      element("strong", {}, title), element("span", { class: "note" }, unit), this.readout);
    this.node = element("figure", { class: "chart-figure" }, caption, this.svg, this.legend);
    this.svg.addEventListener("pointermove", (event) => this.#move(event));
    this.svg.addEventListener("pointerleave", () => this.group.point(null));
    this.svg.addEventListener("pointerdown", (event) => (this.from = event.pointerType === "touch" ? undefined : event.clientX));
    addEventListener("pointerup", (event) => this.#release(event));
    this.svg.addEventListener("dblclick", () => this.group.set({ range: null }));
    new ResizeObserver(() => this.#draw()).observe(this.svg);
  }

  /**
   * @param {Curve[]} curves
   * @param {{name: string, first: number, last: number}[]} phases
   */
  update(curves, phases) {
    // A curve keeps its colour in all charts, also where others are empty.
    this.curves = curves.map((curve, series) => ({ ...curve, series: series % 8 }))
      .filter((curve) => curve.points.some(([, value]) => Number.isFinite(value)));
    this.phases = phases;
    this.width = 0;
    show(this.node, this.curves.length > 0);
    this.#draw();
    this.svg.setAttribute("aria-label", `${this.title}: ${this.#summary()}`);
    this.legend.replaceChildren(...(this.curves.length < 2 ? [] : this.curves.map((curve) =>
      element("span", { class: `key series-${curve.series}` }, curve.name))));
  }

  redraw() {
    this.width = 0;
    this.#draw();
  }

  /** Draws for the available width, so that text keeps its size on a phone. */
  #draw() {
    const width = Math.round(this.svg.clientWidth);
    if (!this.curves || width < 2 * MARGIN.left || width === this.width) return;
    this.width = width;
    const phases = this.phases;
    const end = Math.max(1, ...phases.map((phase) => phase.last));
    const [first, last] = this.group.range ?? [0, end];
    const inside = (points) => points.filter(([step]) => step >= first && step <= last);
    const shown = this.curves.flatMap((curve) => inside(curve.points).map(([, value]) => value));
    const [low, high] = valueRange(this.apart ? [0, ...shown] : shown);
    const place = this.group.logarithmic ? (step) => Math.log10(1 + Math.max(0, step)) : (step) => step;
    const back = this.group.logarithmic ? (value) => 10 ** value - 1 : (value) => value;
    const [from, to] = [place(first), place(last)];
    const inner = this.width - MARGIN.left - MARGIN.right;
    this.x = (step) => MARGIN.left + (inner * (place(step) - from)) / (to - from || 1);
    this.stepAt = (x) => back(from + ((x - MARGIN.left) / inner) * (to - from));
    this.y = (value) => HEIGHT - MARGIN.bottom - ((HEIGHT - MARGIN.top - MARGIN.bottom) * (value - low)) / (high - low);
    this.cursor = drawing("line", { class: "cursor", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, x1: 0, x2: 0, visibility: "hidden" });
    this.svg.replaceChildren(this.#clipPath(), ...this.#phases(phases), ...this.#axes(low, high, first, last), this.#lines(), this.cursor);
  }

  #clipPath() {
    const height = HEIGHT - MARGIN.top - MARGIN.bottom + 6; // so that a mark at the edge is not cut off
    const area = { x: MARGIN.left, y: MARGIN.top - 6, width: this.width - MARGIN.left - MARGIN.right + 6, height };
    return drawing("clipPath", { id: this.clip }, drawing("rect", area));
  }

  #phases(phases) {
    return phases.flatMap((phase, index) => {
      const edge = (step) => Math.min(this.width - MARGIN.right, Math.max(MARGIN.left, this.x(step)));
      const [left, right] = [edge(phase.first), edge(phase.last)];
      const area = { x: left, y: MARGIN.top, width: Math.max(0, right - left), height: HEIGHT - MARGIN.top - MARGIN.bottom };
      const parts = [drawing("rect", { ...area, class: `phase phase-${index % 2}` })];
      if (right - left > 7 * phase.name.length) {
        parts.push(drawing("text", { x: left + 4, y: MARGIN.top - 8, class: "phase-name" }, phase.name));
      }
      return parts;
    });
  }

  #axes(low, high, first, last) {
    const bottom = HEIGHT - MARGIN.bottom;
    const rows = ticks(low, high, 4).flatMap((value) => [
      drawing("line", { class: "rule", x1: MARGIN.left, x2: this.width - MARGIN.right, y1: this.y(value), y2: this.y(value) }),
      drawing("text", { class: "tick", x: MARGIN.left - 8, y: this.y(value) + 4, "text-anchor": "end" }, shortNumber(value)),
    ]);
    const steps = this.group.logarithmic ? powers(first, last) : ticks(first, last, Math.max(2, Math.min(5, this.width / 90)));
    const columns = steps.map((step) => {
      const x = this.x(step);
      const anchor = x > this.width - MARGIN.right - 14 ? "end" : "middle"; // the last one would be cut off
      return drawing("text", { class: "tick", x: anchor === "end" ? this.width - 2 : x, y: bottom + 16, "text-anchor": anchor }, shortNumber(step));
    });
    const middle = (MARGIN.top + bottom) / 2;
    return [...rows, ...columns,
      drawing("text", { class: "axis", x: (MARGIN.left + this.width - MARGIN.right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, "step"),
      drawing("text", { class: "axis", x: 10, y: middle, "text-anchor": "middle", transform: `rotate(-90 10 ${middle})` }, this.unit)];
  }

  #lines() {
    const shapes = this.curves.flatMap((curve, index) => {
      const shift = this.apart ? APART * (index - (this.curves.length - 1) / 2) : 0;
      const place = (value) => this.y(value) - shift;
      if (!curve.marks) {
        const line = (points, kind) => drawing("path", { class: `${kind} series-${curve.series}`, d: pathOf(points, this.x, place) });
        const { smoothing } = this.group;
        return [...(smoothing > 0 ? [line(curve.points, "faint")] : []), line(smoothed(curve.points, smoothing), "line")];
      }
      return curve.points.map(([step, value]) =>
        drawing("circle", { class: `mark series-${curve.series}`, cx: this.x(step), cy: this.y(value), r: 4 }));
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

  #stepOf(event) {
    const area = this.svg.getBoundingClientRect();
    return this.stepAt(((event.clientX - area.left) / area.width) * this.width);
  }

  #move(event) {
    if (this.curves?.length > 0) this.group.point(this.#stepOf(event));
  }

  /** A range of steps was drawn with the pointer: all charts show it. */
  #release(event) {
    if (this.from === undefined) return;
    const distance = event.clientX - this.from;
    const steps = [this.#stepOf({ clientX: this.from }), this.#stepOf(event)].sort((a, b) => a - b);
    this.from = undefined;
    if (Math.abs(distance) >= DRAG) this.group.set({ range: [Math.max(0, steps[0]), steps[1]] });
  }

  /** Shows the values at a step, with their names; null shows none. */
  point(step) {
    if (!this.cursor || !this.curves) return;
    const lines = step === null ? [] : this.curves.filter((curve) => !curve.marks);
    if (lines.length === 0) {
      this.readout.replaceChildren();
      this.cursor.setAttribute("visibility", "hidden");
      return;
    }
    const nearest = (points) =>
      points.reduce((best, point) => (Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best));
    const values = lines.map((curve) => ({ curve, point: nearest(curve.points) }));
    const at = values[0].point[0];
    this.cursor.setAttribute("visibility", "visible");
    this.cursor.setAttribute("x1", this.x(at));
    this.cursor.setAttribute("x2", this.x(at));
    this.readout.replaceChildren(`step ${at}`, ...values.map(({ curve, point: [, value] }) =>
      element("span", { class: `key series-${curve.series}` }, `${curve.name} ${Number.isFinite(value) ? shortNumber(value) : "–"}`)));
  }
}

/** Powers of ten for the ticks of a logarithmic axis. */
function powers(low, high) {
  const values = [];
  for (let power = 1; power <= high; power *= 10) if (power >= low) values.push(power);
  return values;
}
