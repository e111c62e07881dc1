// The mean pictures of components, fetched once per version of the model and drawn when they come into view: a factor may
// have hundreds.

import { getAtlas } from "./api.mjs";
import { element, report } from "./dom.mjs";

/** The mean pictures of all factors, fetched once per version of the model. */
export class Atlases {
  #atlases = new Map();
  #waiting = new WeakMap();
  #observer = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => {
    this.#observer.unobserve(target);
    this.#waiting.get(target)?.();
  }), { rootMargin: "200px" });

  constructor(model) {
    this.model = model;
  }

  /** Draws the mean picture of a component into a canvas once it has arrived. */
  async draw(canvas, factor, index) {
    if (!this.#atlases.has(factor.name)) this.#atlases.set(factor.name, getAtlas(factor.name, this.model.version));
    const { bitmap, columns, count } = await this.#atlases.get(factor.name);
    if (index >= count || canvas.dataset.live) return; // it shows the present picture (live.mjs)
    const { width, height } = this.model.shape;
    canvas.width = width;
    canvas.height = height;
    const [left, top] = [(index % columns) * width, Math.floor(index / columns) * height];
    canvas.getContext("2d").drawImage(bitmap, left, top, width, height, 0, 0, width, height);
  }

  thumbnail(factor, index) {
    const canvas = element("canvas", { class: "thumbnail", "aria-hidden": "true", width: 1, height: 1 });
    this.#waiting.set(canvas, () => this.draw(canvas, factor, index).catch(report));
    this.#observer.observe(canvas);
    return canvas;
  }
}

