// A map of a factor: its components, and images of the data, in two dimensions by how alike they are: as the model sees them, by their
// latent vectors, or as pictures, pixel by pixel. It can be moved and zoomed; a click on a component chooses it.

import { getMap } from "./api.mjs";
import { byId, counted, element, pixelsOf, pngBlob, report } from "./dom.mjs";
import { SpriteSheet } from "./sprites.mjs";
import { byShare, componentLabel } from "./values.mjs";

/** The most that a map has; t-SNE compares all pairs. */
const MOST_COMPONENTS = 512;
const MOST_IMAGES = 256;
/** Pixels of a side of a picture, of components by how many there are. */
const SIDE = { least: 24, most: 44, image: 0.42 };
/** Pictures are compared at this many pixels a side at most. */
const COMPARED = 32;

/** The colour of a component, the same wherever it is drawn. */
function colourOf(index) {
  return `hsl(${(index * 137.5) % 360} 65% 45%)`;
}

/** The pixels of a picture, which is made smaller first if it is large. */
function comparedPixels(canvas) {
  const scale = Math.min(1, COMPARED / Math.max(canvas.width, canvas.height));
  if (scale === 1) return pixelsOf(canvas);
  const small = element("canvas", { width: Math.round(scale * canvas.width), height: Math.round(scale * canvas.height) });
  const context = small.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(canvas, 0, 0, small.width, small.height);
  return pixelsOf(small);
}

export class ComponentMap {
  constructor(choose) {
    Object.assign(this, { choose, points: [], zoom: 1, centre: [0.5, 0.5] });
    this.canvas = byId("map-canvas");
    byId("map").addEventListener("toggle", () => this.#load());
    for (const id of ["map-kind", "map-by"]) byId(id).addEventListener("change", () => this.#place());
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
    byId("map-text").textContent = "Reading the images …";
    try {
      const answer = await getMap(this.factor.name, MOST_IMAGES);
      const points = [...(await this.#components(answer)), ...(await this.#images(answer))];
      if (key !== this.key) return;
      this.points = points;
      this.#place();
    } catch (error) {
      this.loaded = null;
      byId("map-text").textContent = "";
      report(error);
    }
  }

  async #components({ components }) {
    const living = byShare(this.factor).filter((index) => this.factor.components[index].living).slice(0, MOST_COMPONENTS);
    return Promise.all(living.map(async (index) => ({
      kind: "component", index, component: index, latents: Float32Array.from(components[index]), canvas: await this.atlases.canvas(this.factor, index),
    })));
  }

  async #images({ images, sheet, columns }) {
    const sprites = new SpriteSheet(pngBlob(sheet), this.model.shape, columns, images.length);
    const points = await Promise.all(images.map(async ({ index, component, z }, place) => ({
      kind: "image", index, component, latents: Float32Array.from(z), canvas: await sprites.canvas(place),
    })));
    sprites.close();
    return points;
  }

  /** Asks for the places of all points. They are computed beside the page; of several requests the newest is shown. */
  #place() {
    const { points } = this;
    if (points.length < 3) {
      byId("map-text").textContent = "There are too few points for a map.";
      return;
    }
    const [kind, by] = [byId("map-kind").value, byId("map-by").value];
    const vectors = points.map((point) => (by === "latents" ? point.latents : (point.pixels ??= comparedPixels(point.canvas))));
    byId("map-text").textContent = "Computing the map …";
    this.worker ??= new Worker(new URL("./projection_worker.mjs", import.meta.url), { type: "module" });
    const id = (this.asked = (this.asked ?? 0) + 1);
    this.worker.onmessage = ({ data }) => {
      if (data.id === this.asked) this.#show(points, data.places, `${by} ${kind}`);
    };
    this.worker.postMessage({ id, points: vectors, kind });
  }

  #show(points, places, drawn) {
    for (const axis of [0, 1]) {
      const values = places.map((place) => place[axis]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      places.forEach((place) => (place[axis] = (place[axis] - low) / (high - low || 1)));
    }
    points.forEach((point, row) => (point.place = places[row]));
    Object.assign(this, { zoom: 1, centre: [0.5, 0.5] });
    const components = points.filter(({ kind }) => kind === "component").length;
    const living = this.factor.components.filter((component) => component.living).length;
    const images = points.length - components;
    byId("map-text").textContent = `${components < living ? `The ${components} heaviest of ${living} components` : counted(components, "component")} and `
      + `${counted(images, "image")}, spread evenly over the data.`;
    this.canvas.setAttribute("aria-label", `Map of ${counted(components, "component")} and ${counted(images, "image")} of ${this.factor.name}`);
    byId("map").dataset.drawn = drawn;
    this.#draw();
  }

  #onScreen([x, y]) {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const margin = 30;
    return [margin + (width - 2 * margin) * (0.5 + this.zoom * (x - this.centre[0])), margin + (height - 2 * margin) * (0.5 + this.zoom * (y - this.centre[1]))];
  }

  /** The side of the pictures of a kind: many components are drawn smaller, so that fewer lie over each other. */
  #side(kind) {
    const components = this.points.filter((point) => point.kind === "component").length;
    const room = 0.75 * Math.sqrt((this.canvas.clientWidth * this.canvas.clientHeight) / Math.max(1, components));
    const side = Math.max(SIDE.least, Math.min(SIDE.most, room)) * Math.min(2, Math.sqrt(this.zoom));
    return kind === "component" ? side : SIDE.image * side;
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
    const sides = { component: this.#side("component"), image: this.#side("image") };
    for (const point of shown.reverse()) { // components above images
      const [x, y] = this.#onScreen(point.place);
      const side = sides[point.kind];
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
    if (nearest && distance(nearest) < this.#side("component")) this.choose(nearest.component, componentLabel(this.factor, this.factor.components[nearest.component]));
  }
}
