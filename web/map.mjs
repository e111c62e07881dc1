// A map of a factor: its components, and images of the data, in two dimensions by how alike their pictures are. It can be moved and
// zoomed; a click on a component chooses it. The mean pictures and the images are compared pixel by pixel.

import { getImages } from "./api.mjs";
import { byId, counted, element, pixelsOf, report } from "./dom.mjs";
import { principal, squaredDistances, tsne } from "./projection.mjs";
import { byShare, componentLabel } from "./values.mjs";

const MOST_COMPONENTS = 200;
const MOST_IMAGES = 128;
const SIDE = { component: 44, image: 18 };

/** The colour of a component, the same wherever it is drawn. */
function colourOf(index) {
  return `hsl(${(index * 137.5) % 360} 65% 45%)`;
}

export class ComponentMap {
  constructor(choose) {
    Object.assign(this, { choose, points: [], zoom: 1, centre: [0.5, 0.5] });
    this.canvas = byId("map-canvas");
    byId("map").addEventListener("toggle", () => this.#load());
    byId("map-kind").addEventListener("change", () => this.#place());
    byId("map-images").addEventListener("change", () => this.#draw());
    this.canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => this.#press(event));
    this.canvas.addEventListener("pointermove", (event) => this.#move(event));
    this.canvas.addEventListener("pointerup", (event) => this.#release(event));
    byId("map-in").addEventListener("click", () => this.#scale(1.4, 0.5, 0.5));
    byId("map-out").addEventListener("click", () => this.#scale(1 / 1.4, 0.5, 0.5));
    new ResizeObserver(() => this.#draw()).observe(this.canvas);
  }

  /** @param {object|undefined} factor without one there is no map */
  update(factor, model, atlases) {
    byId("map").hidden = !factor;
    const key = factor && `${factor.name} ${model.version}`;
    if (key === this.key) return;
    Object.assign(this, { key, factor, model, atlases, loaded: null, points: [] });
    this.#load();
  }

  async #load() {
    if (!byId("map").open || !this.factor || this.loaded === this.key) return;
    const key = (this.loaded = this.key);
    try {
      const points = [...(await this.#components()), ...(await this.#images())];
      if (key !== this.key) return;
      this.points = points;
      this.distances = squaredDistances(points.map((point) => point.pixels));
      this.#place();
    } catch (error) {
      this.loaded = null;
      report(error);
    }
  }

  async #components() {
    const { width, height } = this.model.shape;
    const living = byShare(this.factor).filter((index) => this.factor.components[index].living).slice(0, MOST_COMPONENTS);
    return Promise.all(living.map(async (index) => {
      const canvas = element("canvas", { width, height });
      await this.atlases.draw(canvas, this.factor, index);
      return { kind: "component", index, component: index, canvas, pixels: pixelsOf(canvas) };
    }));
  }

  async #images() {
    const { width, height } = this.model.shape;
    const answer = await getImages({ factor: this.factor.name, order: "index", offset: 0, count: MOST_IMAGES });
    if (answer.sheet === "") return [];
    const sheet = await createImageBitmap(new Blob([Uint8Array.from(atob(answer.sheet), (sign) => sign.charCodeAt(0))], { type: "image/png" }));
    return answer.images.map((image, place) => {
      const canvas = element("canvas", { width, height });
      canvas.getContext("2d").drawImage(sheet, (place % answer.columns) * width, Math.floor(place / answer.columns) * height, width, height, 0, 0, width, height);
      return { kind: "image", index: image.index, component: image.code[this.factor.name].component, canvas, pixels: pixelsOf(canvas) };
    });
  }

  #place() {
    const count = this.points.length;
    if (count < 3) return;
    const places = byId("map-kind").value === "tsne" ? tsne(this.distances, count) : principal(this.distances, count);
    for (const axis of [0, 1]) {
      const values = places.map((place) => place[axis]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      places.forEach((place) => (place[axis] = (place[axis] - low) / (high - low || 1)));
    }
    this.points.forEach((point, row) => (point.place = places[row]));
    Object.assign(this, { zoom: 1, centre: [0.5, 0.5] });
    const components = this.points.filter(({ kind }) => kind === "component").length;
    this.canvas.setAttribute("aria-label", `Map of ${counted(components, "component")} and ${counted(count - components, "image")} of ${this.factor.name}`);
    byId("map").dataset.drawn = byId("map-kind").value;
    this.#draw();
  }

  #onScreen([x, y]) {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const margin = 30;
    return [margin + (width - 2 * margin) * (0.5 + this.zoom * (x - this.centre[0])), margin + (height - 2 * margin) * (0.5 + this.zoom * (y - this.centre[1]))];
  }

  #draw() {
    const density = devicePixelRatio;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (width === 0) return;
    [this.canvas.width, this.canvas.height] = [width * density, height * density];
    const context = this.canvas.getContext("2d");
    context.scale(density, density);
    context.imageSmoothingEnabled = false;
    const shown = this.points.filter((point) => point.place && (point.kind === "component" || byId("map-images").checked));
    for (const point of shown.reverse()) { // components above images
      const [x, y] = this.#onScreen(point.place);
      const side = SIDE[point.kind] * Math.min(2, Math.sqrt(this.zoom));
      context.drawImage(point.canvas, x - side / 2, y - side / 2, side, side);
      context.strokeStyle = colourOf(point.component);
      context.lineWidth = point.kind === "component" ? 3 : 2;
      context.strokeRect(x - side / 2, y - side / 2, side, side);
    }
  }

  #scale(by, x, y) {
    const zoom = Math.min(20, Math.max(1, this.zoom * by));
    this.centre = [x, y].map((share, axis) => this.centre[axis] + (share - 0.5) * (1 / this.zoom - 1 / zoom));
    this.zoom = zoom;
    if (zoom === 1) this.centre = [0.5, 0.5];
    this.#draw();
  }

  #wheel(event) {
    event.preventDefault();
    const area = this.canvas.getBoundingClientRect();
    this.#scale(Math.exp(-event.deltaY / 300), (event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height);
  }

  #press(event) {
    this.grip = { x: event.clientX, y: event.clientY, centre: this.centre, moved: false };
    this.canvas.setPointerCapture(event.pointerId);
  }

  #move(event) {
    if (!this.grip) return;
    const [right, down] = [event.clientX - this.grip.x, event.clientY - this.grip.y];
    if (Math.hypot(right, down) > 4) this.grip.moved = true;
    this.centre = [this.grip.centre[0] - right / this.canvas.clientWidth / this.zoom, this.grip.centre[1] - down / this.canvas.clientHeight / this.zoom];
    this.#draw();
  }

  #release(event) {
    const { moved } = this.grip ?? { moved: true };
    this.grip = null;
    if (moved) return;
    const area = this.canvas.getBoundingClientRect();
    const distance = (point) => Math.hypot(...this.#onScreen(point.place).map((at, axis) => at - (axis === 0 ? event.clientX - area.left : event.clientY - area.top)));
    const nearest = this.points.filter((point) => point.place).reduce((best, point) => (best && distance(best) <= distance(point) ? best : point), null);
    if (nearest && distance(nearest) < SIDE.component) this.choose(nearest.component, componentLabel(this.factor, this.factor.components[nearest.component]));
  }
}
