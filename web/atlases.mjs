// The mean pictures of components, fetched once per version of the model and shown when they come into view: a factor may
// have hundreds.

import { getAtlas } from "./api.mjs";
import { element, report } from "./dom.mjs";
import { SpriteSheet } from "./sprites.mjs";

/** Pixels of the longer side of a thumbnail. */
export const THUMBNAIL = 56;
/** Milliseconds after which nothing shows the pictures of an older model any more. */
const REPLACED = 10000;

export class Atlases {
  #sheets = new Map();
  #waiting = new WeakMap();
  #observer = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => {
    this.#observer.unobserve(target);
    this.#waiting.get(target)?.();
  }), { rootMargin: "200px" });

  constructor(model) {
    this.model = model;
  }

  /** All mean pictures of a factor. */
  #sheet(factor) {
    if (!this.#sheets.has(factor.name)) {
      this.#sheets.set(factor.name, getAtlas(factor.name, this.model.version)
        .then(({ blob, columns, count }) => new SpriteSheet(blob, this.model.shape, columns, count)));
    }
    return this.#sheets.get(factor.name);
  }

  /** There is a newer model, and what showed pictures of this one is about to be replaced. A long training has many models. */
  close() {
    const end = ({ address }) => URL.revokeObjectURL(address);
    for (const sheet of this.#sheets.values()) sheet.then((known) => setTimeout(() => end(known), REPLACED)).catch(() => {}); // it was never fetched
  }

  /** Shows the mean picture of a component once it has arrived, if it is `still` wanted then: the node may show another by now. */
  async show(node, factor, index, still = () => !node.dataset.live) {
    const sheet = await this.#sheet(factor);
    if (index < sheet.count && still()) sheet.show(node, index, THUMBNAIL);
  }

  /** The mean picture of a component on a canvas; without pixels if there is none. */
  async canvas(factor, index) {
    const sheet = await this.#sheet(factor);
    return index < sheet.count ? sheet.canvas(index) : element("canvas", { width: 1, height: 1 });
  }

  /** A node that shows the mean picture of a component when it comes into view. */
  thumbnail(factor, index) {
    const node = element("span", { class: "thumbnail", "aria-hidden": "true" });
    this.whenSeen(node, () => this.show(node, factor, index));
    return node;
  }

  /** Does something when a node comes into view for the first time. */
  whenSeen(node, work) {
    this.#waiting.set(node, () => work().catch(report));
    this.#observer.observe(node);
  }
}
