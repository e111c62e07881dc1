// Small pictures of one size in the rows of one image file. A picture is shown as the background of a node and not drawn on a canvas:
// the browser gives every canvas a layer of its own, and with hundreds of them scrolling is slow.

import { element } from "./dom.mjs";

export class SpriteSheet {
  #bitmap = null;

  /** @param {Blob} blob @param {{width: number, height: number}} shape of one picture */
  constructor(blob, shape, columns, count) {
    Object.assign(this, { blob, shape, columns, count, address: URL.createObjectURL(blob) });
  }

  /** Shows a picture in a node, with a longer side of so many pixels. */
  show(node, place, side) {
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

  /** Nothing shows it any more. */
  close() {
    URL.revokeObjectURL(this.address);
  }
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
  sized(node, shape, side);
  node.style.backgroundImage = `url("${address}")`;
  node.style.backgroundSize = "100% 100%";
  node.style.backgroundPosition = "0 0";
}
