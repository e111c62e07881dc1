// Many pictures at once: the path from the pinned picture to the present one, in all factors or one, also as an animated file;
// and a sheet of draws that differ in their seed only.

import { Newest, decode, generate } from "./api.mjs";
import { animatedPng } from "./apng.mjs";
import { byId, downloadBytes, element, report, show } from "./dom.mjs";
import { redrawAll, toRequest } from "./state.mjs";

const STEPS = 9;
const DRAWS = 24;
const FRAME = 120; // milliseconds

/** Latent vectors from one to another, along a straight line; only the block of `factor` moves if one is given. */
export function pathBetween(from, to, factor, steps = STEPS) {
  const moves = (place) => !factor || (place >= factor.first && place < factor.first + factor.dimensions);
  return Array.from({ length: steps }, (_, step) =>
    from.map((value, place) => (moves(place) ? value + ((to[place] - value) * step) / (steps - 1) : value)));
}

export class Paths {
  constructor(store, scaleOf) {
    Object.assign(this, { store, scaleOf });
    this.paths = new Newest(report);
    this.sheets = new Newest(report);
    byId("path").addEventListener("toggle", () => this.#drawPath());
    byId("path-factor").addEventListener("change", () => this.#drawPath());
    byId("path-file").addEventListener("click", () => this.#animate().catch(report));
    byId("sheet").addEventListener("toggle", () => this.#drawSheet());
    byId("sheet-more").addEventListener("click", () => {
      this.first += DRAWS;
      this.sheetKey = null;
      this.#drawSheet();
    });
    this.first = 1;
  }

  setModel(model) {
    Object.assign(this, { model, pathKey: null, sheetKey: null });
    byId("path-factor").replaceChildren(element("option", { value: "" }, "all factors"),
      ...model.factors.map((factor) => element("option", { value: factor.name }, `only ${factor.name}`)));
  }

  update(shown, pinned) {
    Object.assign(this, { shown, pinned });
    show(byId("path"), pinned !== null);
    this.#drawPath();
    this.#drawSheet();
  }

  #vectors() {
    const factor = this.model.factors.find(({ name }) => name === byId("path-factor").value);
    return pathBetween(this.pinned.z, this.shown.z, factor);
  }

  #drawPath() {
    if (!byId("path").open || !this.pinned || !this.shown) return;
    const key = JSON.stringify([this.pinned.key, this.shown.key, byId("path-factor").value]);
    if (key === this.pathKey) return;
    this.pathKey = key;
    this.paths.request(async (signal) => {
      const { images } = await decode(this.#vectors(), 1, signal);
      byId("path-images").replaceChildren(...images.map(({ png }, index) =>
        element("img", { src: "data:image/png;base64," + png, alt: `Step ${index + 1} of ${STEPS}` })));
    });
  }

  /** There and back, so that the animation has no jump. */
  async #animate() {
    const { images } = await decode(this.#vectors(), this.scaleOf());
    const frames = images.map(({ png }) => Uint8Array.from(atob(png), (sign) => sign.charCodeAt(0)));
    downloadBytes(animatedPng([...frames, ...frames.slice(1, -1).reverse()], FRAME), "path.png", "image/png");
  }

  #drawSheet() {
    if (!byId("sheet").open || !this.shown) return;
    const { picture } = this.store.state;
    const pictures = Array.from({ length: DRAWS }, (_, index) => redrawAll(picture, this.first + index));
    const requests = pictures.map((each) => toRequest(each, this.model));
    const key = JSON.stringify([this.model.version, requests]);
    if (key === this.sheetKey) return;
    this.sheetKey = key;
    this.sheets.request(async (signal) => {
      const { images } = await generate(requests, 1, signal);
      byId("sheet-images").replaceChildren(...images.map(({ png }, index) => element("button", {
        class: "cell", type: "button", "aria-label": `Draw with seed ${pictures[index].seed}`,
        onclick: () => this.store.set({ ...this.store.state, picture: pictures[index] }),
      }, element("img", { src: "data:image/png;base64," + png, alt: "", draggable: "false" }))));
    });
  }
}
