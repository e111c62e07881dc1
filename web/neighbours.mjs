// The images of the data that are nearest to a picture, in all factors or in some: of the large picture in Explore, and of
// the user's image as it is or as it was edited.

import { Newest, nearest } from "./api.mjs";
import { byId, element, encodingNotice, report, setText, show } from "./dom.mjs";

const COUNT = 8;

export class Neighbours {
  /** @param {string} id of the disclosure; what it contains has ids that begin with it */
  constructor(id) {
    this.id = id;
    this.requests = new Newest(report);
    byId(id).addEventListener("toggle", () => this.#draw());
  }

  setModel(model, available) {
    this.shown = null;
    show(byId(this.id), available);
    byId(`${this.id}-factors`).replaceChildren(...model.factors.map((factor) => element("label", { class: "choice" },
      element("input", { type: "checkbox", value: factor.name, checked: true, onchange: () => this.#draw() }), factor.name)));
  }

  /** Whether images can be searched yet: they are encoded first, which may take minutes. @param {{available, ready, encoded, images}} data */
  setData(data) {
    setText(byId(`${this.id}-text`), data.available && !data.ready ? encodingNotice(data) : "");
    if (data.ready === this.ready) return;
    this.ready = data.ready;
    this.#draw();
  }

  /** @param {number[]} z of the picture to search for */
  update(z) {
    this.z = z;
    this.#draw();
  }

  #draw() {
    if (!byId(this.id).open || byId(this.id).hidden || !this.z || !this.ready) return;
    const factors = [...byId(`${this.id}-factors`).querySelectorAll("input:checked")].map((input) => input.value);
    const key = JSON.stringify([this.z, factors]);
    if (key === this.shown) return;
    this.requests.request(async (signal) => {
      const { images } = factors.length === 0 ? { images: [] } : await nearest(this.z, COUNT, signal, factors);
      this.shown = key;
      byId(`${this.id}-images`).replaceChildren(...images.map((image) => figureOf(image)));
    });
  }
}

function figureOf(image) {
  const labels = Object.entries(image.labels).map(([property, value]) => `${property} ${value}`).join(", ");
  const alt = `Image ${image.index} of the data set, ${labels || "without labels"}`;
  const picture = element("img", { src: "data:image/png;base64," + image.png, alt, title: alt });
  return element("figure", {}, picture, element("figcaption", {}, `distance ${image.distance.toFixed(2)}`));
}
