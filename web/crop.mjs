// The region of an image that is encoded: a box with the model's proportions over the whole image, which is moved and resized
// with a pointer or the keyboard. The region is cut out in the browser; the image itself is sent if the region is what
// the server would take anyway.

import { byId, counted, downloadBytes, element, fileName, report, show } from "./dom.mjs";
import { centred } from "./local_pictures.mjs";

const LONGEST_SIDE = 1024;
const NARROWEST = 8;
const LARGEST_VIEW = 480;
/** Milliseconds without a change after which the region is encoded. */
const PAUSE = 250;

/**
 * @typedef {object} Region in pixels of the image
 * @property {number} left
 * @property {number} top
 * @property {number} width
 * @property {number} height
 */

/** A region that was moved, as far as the image goes. @returns {Region} */
export function moved(region, across, down, image) {
  const within = (value, size, most) => Math.max(0, Math.min(most - size, value));
  return {
    ...region,
    left: within(region.left + across, region.width, image.width),
    top: within(region.top + down, region.height, image.height),
  };
}

/** A region of another width with the same proportions and top left corner, as far as the image goes. @returns {Region} */
export function resized(region, width, image) {
  const aspect = region.width / region.height;
  const widest = Math.min(image.width - region.left, (image.height - region.top) * aspect);
  const next = Math.max(Math.min(NARROWEST, widest), Math.min(widest, width));
  return { ...region, width: next, height: next / aspect };
}

export class CropBox {
  /** @param {() => void} onChange another region was chosen */
  constructor(onChange) {
    this.onChange = onChange;
    this.box = byId("crop-box");
    this.box.addEventListener("pointerdown", (event) => this.#press(event));
    this.box.addEventListener("pointermove", (event) => this.#move(event));
    for (const type of ["pointerup", "pointercancel"]) this.box.addEventListener(type, () => (this.from = null));
    this.box.addEventListener("keydown", (event) => this.#key(event));
    byId("crop-reset").addEventListener("click", () => this.#set(this.centre));
    byId("crop-save").addEventListener("click", () => this.#save().catch(report));
    byId("crop").addEventListener("toggle", () => this.#show());
    new ResizeObserver(() => this.#show()).observe(byId("crop-canvas"));
  }

  /** Shows an image with the region that is taken by itself; null shows none. */
  async setImage(file, shape) {
    clearTimeout(this.waiting);
    this.image = null;
    try {
      if (file) this.image = await createImageBitmap(file); // turned as its camera says
    } catch {
      // Only the server can read it, or nobody: there is nothing to choose from.
    }
    show(byId("crop"), this.image !== null);
    if (!this.image) return;
    this.name = file.name;
    this.region = this.centre = centred(this.image, shape);
    const shrink = Math.min(1, LARGEST_VIEW / Math.max(this.image.width, this.image.height));
    const canvas = byId("crop-canvas");
    [canvas.width, canvas.height] = [Math.ceil(shrink * this.image.width), Math.ceil(shrink * this.image.height)];
    canvas.getContext("2d").drawImage(this.image, 0, 0, canvas.width, canvas.height);
    this.#show();
  }

  /** The region as a PNG; null where it is the one that is taken by itself. @returns {Promise<Blob|null>} */
  async cut() {
    return this.image && this.region !== this.centre ? this.#png() : null;
  }

  #png() {
    const { left, top, width, height } = this.region;
    const shrink = Math.min(1, LONGEST_SIDE / Math.max(width, height));
    const canvas = element("canvas", { width: Math.max(1, Math.round(shrink * width)), height: Math.max(1, Math.round(shrink * height)) });
    canvas.getContext("2d").drawImage(this.image, left, top, width, height, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  async #save() {
    downloadBytes(await (await this.#png()).arrayBuffer(), fileName([this.name.replace(/\.\w+$/, ""), "region"]), "image/png");
  }

  #set(region) {
    this.region = region;
    this.#show();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.onChange(), PAUSE);
  }

  /** Pixels of the image in one of the page. */
  #scale() {
    return this.image.width / byId("crop-canvas").getBoundingClientRect().width;
  }

  #show() {
    if (!this.image || byId("crop-canvas").clientWidth === 0) return;
    const scale = this.#scale();
    const { left, top, width, height } = this.region;
    for (const [side, value] of Object.entries({ left, top, width, height })) this.box.style[side] = `${value / scale}px`;
    const text = `${counted(Math.round(width), "pixel")} wide, ${Math.round(left)} from the left, ${Math.round(top)} from the top`;
    byId("crop-text").textContent = text;
    this.box.setAttribute("aria-label", `Region: ${text}. Arrow keys move it, plus and minus resize it.`);
    byId("crop-reset").disabled = this.region === this.centre;
  }

  #press(event) {
    this.box.setPointerCapture(event.pointerId);
    this.from = { x: event.clientX, y: event.clientY, region: this.region, resizes: event.target.closest(".crop-handle") !== null };
  }

  #move(event) {
    if (!this.from) return;
    const scale = this.#scale();
    const [across, down] = [(event.clientX - this.from.x) * scale, (event.clientY - this.from.y) * scale];
    const { region, resizes } = this.from;
    this.#set(resizes ? resized(region, region.width + Math.max(across, (down * region.width) / region.height), this.image)
      : moved(region, across, down, this.image));
  }

  #key(event) {
    const step = (event.shiftKey ? 0.1 : 0.02) * Math.max(this.image.width, this.image.height);
    const next = {
      ArrowLeft: () => moved(this.region, -step, 0, this.image), ArrowRight: () => moved(this.region, step, 0, this.image),
      ArrowUp: () => moved(this.region, 0, -step, this.image), ArrowDown: () => moved(this.region, 0, step, this.image),
      "+": () => resized(this.region, this.region.width + step, this.image), "-": () => resized(this.region, this.region.width - step, this.image),
    }[event.key];
    if (!next || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#set(next());
  }
}
