// Live thumbnails: each component shows the present picture with that component, or where the two differ. They are requested
// after the picture, a few at a time, and only for the options that are shown.

import { Newest, generate } from "./api.mjs";
import { byId, element, report } from "./dom.mjs";
import { choose, pictureKey, toRequest } from "./state.mjs";

const STATES = 64;
/** More options of one factor keep their mean pictures. */
const MOST_OPTIONS = 64;

/** The absolute difference of two pictures of the same size, made three times as bright. */
function difference(image, other) {
  const pixels = new ImageData(image.width, image.height);
  for (let place = 0; place < pixels.data.length; place += 4) {
    for (let colour = 0; colour < 3; ++colour) {
      pixels.data[place + colour] = 3 * Math.abs(image.data[place + colour] - other.data[place + colour]);
    }
    pixels.data[place + 3] = 255;
  }
  return pixels;
}

async function pixelsOf(png) {
  const bytes = Uint8Array.from(atob(png), (sign) => sign.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = element("canvas", { width: bitmap.width, height: bitmap.height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, bitmap.width, bitmap.height);
}

export class LiveThumbnails {
  constructor(store) {
    this.requests = new Newest(report);
    byId("thumbnails").addEventListener("change", (event) => store.set({ ...store.state, thumbnails: event.target.value }));
  }

  /** @param {{picture: object, png: string}} shown the large picture @param {FactorPanel[]} panels */
  update(state, shown, panels, model) {
    byId("thumbnails").value = state.thumbnails;
    const key = JSON.stringify([state.thumbnails, pictureKey(shown.picture, model)]);
    if (key === this.key) return;
    this.key = key;
    if (state.thumbnails === "mean") {
      for (const panel of panels) panel.values.showMeans();
      return;
    }
    this.requests.request((signal) => this.#draw(state.thumbnails, shown, panels, model, signal));
  }

  async #draw(kind, shown, panels, model, signal) {
    const wanted = panels.flatMap((panel) => panel.values.visibleOptions().slice(0, MOST_OPTIONS).map(({ index, canvas }) => ({
      canvas, picture: choose(shown.picture, panel.factor.name, panel.factor.components[index].name),
    })));
    const now = kind === "difference" ? await pixelsOf(shown.png) : null;
    for (let first = 0; first < wanted.length; first += STATES) {
      const part = wanted.slice(first, first + STATES);
      const { images } = await generate(part.map(({ picture }) => toRequest(picture, model)), 1, signal);
      await Promise.all(images.map(async ({ png }, index) => {
        const pixels = await pixelsOf(png);
        const { canvas } = part[index];
        canvas.dataset.live = kind;
        [canvas.width, canvas.height] = [pixels.width, pixels.height];
        canvas.getContext("2d").putImageData(now ? difference(pixels, now) : pixels, 0, 0);
      }));
    }
  }
}
