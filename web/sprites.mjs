// Small pictures of one size in the rows of one image file. A picture is shown as the background of a node and not drawn on a canvas:
// the browser gives every canvas a layer of its own, and with hundreds of them scrolling is slow.

import { element } from "./dom.mjs";

/** The sheet that a node shows a picture of. */
const shownIn = new WeakMap();

export class SpriteSheet {
  #bitmap = null;
  #nodes = 0;
  #closed = false;

  /** @param {Blob} blob @param {{width: number, height: number}} shape of one picture */
  constructor(blob, shape, columns, count) {
    Object.assign(this, { blob, shape, columns, count, address: URL.createObjectURL(blob) });
  }

  /** Shows a picture in a node, with a longer side of so many pixels. */
  show(node, place, side) {
    if (shownIn.get(node) !== this) {
      forget(node);
      shownIn.set(node, this);
      ++this.#nodes;
    }
    const { width, height } = sized(node, this.shape, side);
    const [column, row] = [place % this.columns, Math.floor(place / this.columns)];
    node.style.backgroundImage = `url("${this.address}")`;
    node.style.backgroundSize = `${this.columns * width}px ${Math.ceil(this.count / this.columns) * height}px`;
    node.style.backgroundPosition = `${-column * width}px ${-row * height}px`;
  }

  /** A picture as pixels on a canvas. */
  async canvas(place) {
    this.#bitmap ??= createImageBitmap(this.blob);
    const { width, height } = this.shape;
    const canvas = element("canvas", { width, height });
    const [left, top] = [(place % this.columns) * width, Math.floor(place / this.columns) * height];
    canvas.getContext("2d", { willReadFrequently: true }).drawImage(await this.#bitmap, left, top, width, height, 0, 0, width, height);
    return canvas;
  }

  /** It is not needed any more. Its address ends when no node shows it: the browser may load a background late, or again. */
  close() {
    this.#closed = true;
    if (this.#nodes === 0) URL.revokeObjectURL(this.address);
  }

  /** A node shows something else now. */
  leave() {
    --this.#nodes;
    if (this.#closed) this.close();
  }
}

function forget(node) {
  shownIn.get(node)?.leave();
  shownIn.delete(node);
}

/** Shows nothing in a node. */
export function clear(node) {
  forget(node);
  node.style.backgroundImage = "none";
}

/** Gives a node the size of a picture whose longer side has so many pixels. Whole pixels: a part of one would show the neighbour. */
function sized(node, shape, side) {
  const scale = side / Math.max(shape.width, shape.height);
  const [width, height] = [Math.round(scale * shape.width), Math.round(scale * shape.height)];
  if (node.style.width !== `${width}px`) node.style.width = `${width}px`;
  if (node.style.height !== `${height}px`) node.style.height = `${height}px`;
  return { width, height };
}

/** Shows a picture of its own in a node. @param {string} address of the picture */
export function showAlone(node, address, shape, side) {
  forget(node);
  sized(node, shape, side);
  node.style.backgroundImage = `url("${address}")`;
  node.style.backgroundSize = "100% 100%";
  node.style.backgroundPosition = "0 0";
}
