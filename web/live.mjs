// Live thumbnails: each component shows the present picture with that component, or where the two differ. They are requested
// after the picture, a few at a time, and only for the options that are shown.

import { Newest, generate } from "./api.mjs";
import { byId, element, pngBlob, report } from "./dom.mjs";
import { choose, pictureKey, toRequest } from "./state.mjs";

const STATES = 64;

/** The absolute difference of two pictures, made three times as bright, as an address. */
function difference(image, other) {
  const pixels = new ImageData(image.width, image.height);
  for (let place = 0; place < pixels.data.length; place += 4) {
    for (let colour = 0; colour < 3; ++colour) {
      pixels.data[place + colour] = 3 * Math.abs(image.data[place + colour] - other.data[place + colour]);
    }
    pixels.data[place + 3] = 255;
  }
  const canvas = element("canvas", { width: pixels.width, height: pixels.height });
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas.toDataURL();
}

async function decoded(png) {
  const bitmap = await createImageBitmap(pngBlob(png));
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
    this.job = state.thumbnails === "mean" ? null : { kind: state.thumbnails, shown, panels, model, done: new Set() };
    for (const { values } of panels) {
      if (!this.job) values.showMeans();
      else values.forgetLive();
      values.onView = () => this.#request(); // a wall was scrolled
    }
    this.#request();
  }

  #request() {
    const { job } = this;
    if (job) this.requests.request((signal) => this.#draw(job, signal));
  }

  /** Draws the options in view that show the present picture not yet. */
  async #draw({ kind, shown, panels, model, done }, signal) {
    const now = kind === "difference" ? await decoded(shown.png) : null;
    const missing = () => panels.flatMap(({ factor, values }) => values.visibleOptions()
      .filter((index) => !done.has(`${factor.name} ${index}`)).map((index) => ({ factor, values, index })));
    for (let wanted = missing(); wanted.length > 0; wanted = missing()) {
      const part = wanted.slice(0, STATES);
      const states = part.map(({ factor, index }) => toRequest(choose(shown.picture, factor.name, factor.components[index].name), model));
      const { images } = await generate(states, 1, signal);
      await Promise.all(part.map(async ({ factor, values, index }, place) => {
        const { png } = images[place];
        const address = now ? difference(await decoded(png), now) : "data:image/png;base64," + png;
        done.add(`${factor.name} ${index}`);
        values.showLive(index, { address, kind });
      }));
    }
  }
}
