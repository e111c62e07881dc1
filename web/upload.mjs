// The second view: the user's own image, its code, and the same image with other components. The address holds the
// image's code, never the image.

import { Newest, edit, encode } from "./api.mjs";
import { CropBox } from "./crop.mjs";
import { announce, byId, copy, download, element, fileName, replacePanels, report, show, showCommand, showPicture } from "./dom.mjs";
import { downloadScale } from "./explore.mjs";
import { CodePanel } from "./factors.mjs";
import { Neighbours } from "./neighbours.mjs";
import { componentIndex } from "./state.mjs";

/** Longest side of an image that the browser converts before it is sent. */
const LONGEST_SIDE = 1024;
const RESTORED = "Restored from the address, which holds the image's code but not the image. "
  + "Choose the image again to see it and its probabilities.";

const OF_REGION = "The command takes the region as a file: save it as a PNG below.";

export class UploadView {
  constructor(store) {
    this.store = store;
    this.panels = [];
    this.encoded = null;
    this.edits = new Newest(report);
    this.uploads = new Newest(report);
    this.neighbours = new Neighbours("similar");
    this.crop = new CropBox(() => this.#encode(this.file, true));
    byId("similar-edited").addEventListener("change", () => this.#search());
    byId("file").addEventListener("change", (event) => this.take(event.target.files));
    byId("keep-offset").addEventListener("click", () => this.#change({ keepOffset: !this.store.state.upload.keepOffset }));
    byId("undo-all").addEventListener("click", () => this.#change({ changes: new Map() }));
    byId("edited-download").addEventListener("click", () => this.#download());
    byId("edited-copy").addEventListener("click", () => copy(byId("edited-command").textContent, "Command"));
    this.#listen();
  }

  /** Images may be dropped or pasted anywhere on the page. */
  #listen() {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      document.body.classList.add("dragging");
    });
    addEventListener("dragleave", (event) => {
      if (event.relatedTarget === null) document.body.classList.remove("dragging");
    });
    addEventListener("drop", (event) => {
      document.body.classList.remove("dragging");
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.take(event.dataTransfer.files);
    });
    addEventListener("paste", (event) => {
      if (event.clipboardData.files.length > 0) this.take(event.clipboardData.files);
    });
  }

  /** @param {{limits: object, nearest: object, refined: boolean}} summary of what is served */
  setModel(model, atlases, { limits, nearest, refined }) {
    this.neighbours.setModel(model, nearest.available);
    Object.assign(this, { model, limits, refined });
    this.scale = downloadScale(model.shape);
    this.original = null;
    const actions = { choose: (factor, index) => this.#choose(factor, index), undo: (factor) => this.#choose(factor, null) };
    this.panels = model.factors.map((factor) => new CodePanel(factor, atlases, actions));
    replacePanels(byId("code"), this.panels.map((panel) => panel.node));
    const { upload } = this.store.state;
    if (upload && this.#encodedOf(upload)) this.#encode(this.file, true);
  }

  /** @param {FileList|File[]} files the first is encoded */
  take(files) {
    if (files.length === 0 || !this.model) return;
    this.#encode(files[0]);
  }

  /** @param {boolean} again the model or the region is another one: the changes and the view stay as they are */
  #encode(file, again = false) {
    this.uploads.request(async (signal) => {
      if (!again) {
        announce("Encoding the image …");
        await this.crop.setImage(file, this.model.shape);
      }
      const region = await this.crop.cut();
      const encoded = await encode(region ?? (await this.#sendable(file)), 1, signal);
      this.file = file;
      this.region = region !== null;
      this.encoded = encoded;
      this.original = null;
      const code = { z: encoded.z, logVariance: encoded.log_variance };
      const state = this.store.state;
      if (again) {
        if (state.upload) this.store.set({ ...state, upload: { ...state.upload, ...code } }, true);
        return;
      }
      this.store.set({ ...state, view: "image", upload: { ...code, changes: new Map(), keepOffset: true } });
      announce(encoded.notice ?? "The image is encoded");
      byId("file").value = "";
    });
  }

  /** The file itself if the server can read it, otherwise a PNG that the browser makes from it. */
  async #sendable(file) {
    const readable = ["image/png", "image/jpeg"].includes(file.type);
    if (readable && file.size <= this.limits.image_bytes) return file;
    let bitmap;
    try {
      bitmap = await createImageBitmap(file);
    } catch {
      throw new Error(`'${file.name}' is not an image that this browser can read`);
    }
    const shrink = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
    const canvas = element("canvas", { width: Math.ceil(shrink * bitmap.width), height: Math.ceil(shrink * bitmap.height) });
    canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  #choose(factor, index) {
    const changes = new Map(this.store.state.upload.changes);
    if (index === null || index === this.original?.[factor.name]) changes.delete(factor.name);
    else changes.set(factor.name, factor.components[index].name);
    this.#change({ changes });
  }

  /** How far the image is like those of the data; without them nothing is said. */
  #showTrust(encoded) {
    const trust = encoded?.trust;
    const strange = trust && (trust.typicality_percentile < 1 || trust.error_percentile > 99);
    byId("trust").textContent = trust ? `Reconstruction error ${trust.error.toFixed(1)} grey levels, larger than that of `
      + `${Math.round(trust.error_percentile)} % of the test images. Its code is more typical than that of ${Math.round(trust.typicality_percentile)} %.` : "";
    byId("unlike").textContent = strange ? "This image is unlike the images that the model has learned from. Its code and "
      + "probabilities mean little." : "";
    show(byId("unlike"), Boolean(strange));
    byId("code").classList.toggle("doubtful-code", Boolean(strange));
    show(byId("error-figure"), Boolean(encoded?.error_map));
    if (encoded?.error_map) byId("error-map").src = "data:image/png;base64," + encoded.error_map;
  }

  /** Searches for the image as it is, or as it was edited. */
  #search() {
    const wanted = byId("similar-edited").value === "edited" ? this.edited : this.reconstructed;
    if (wanted) this.neighbours.update(wanted.z);
  }

  #change(changes) {
    const state = this.store.state;
    this.store.set({ ...state, upload: { ...state.upload, ...changes } });
  }

  async #download() {
    const { upload } = this.store.state;
    if (!this.edited || !upload) return;
    const words = [...upload.changes].map(([name, component]) => `${name}-${component}`);
    try {
      const { images } = await edit(upload.z, upload.logVariance, [this.#edit(upload)], this.scale, undefined, this.#photograph(upload));
      download(images[0].png, fileName(words.length > 0 ? words : ["reconstruction"]));
    } catch (error) {
      report(error);
    }
  }

  /** The changes to an image as the API takes them. */
  #edit(upload) {
    const changes = Object.fromEntries([...upload.changes].map(([name, component]) =>
      [name, componentIndex(this.model.factors.find((factor) => factor.name === name), component)]));
    return { changes, keep_offset: upload.keepOffset };
  }

  update(state) {
    if (!this.model) return;
    const upload = state.upload;
    show(byId("uploaded"), upload !== null);
    byId("drop").classList.toggle("compact", upload !== null);
    if (upload === null) return;
    byId("keep-offset").setAttribute("aria-checked", String(upload.keepOffset));
    show(byId("undo-all"), upload.changes.size > 0);
    if (this.original) this.#updatePanels(upload);
    this.edits.request((signal) => this.#draw(state, signal));
  }

  /** The last encoded image, if the state still holds its code. */
  #encodedOf(upload) {
    const same = this.encoded?.z.every((number, index) => Math.fround(number) === Math.fround(upload.z[index]));
    return same ? this.encoded : null;
  }

  /** The photograph that refined pictures start from, so that what its code does not say stays. Means need none. */
  #photograph(upload) {
    return this.refined ? this.#encodedOf(upload)?.input : undefined;
  }

  #updatePanels(upload) {
    const encoded = this.#encodedOf(upload);
    this.panels.forEach((panel, index) => {
      const name = panel.factor.name;
      const changed = upload.changes.has(name) ? componentIndex(panel.factor, upload.changes.get(name)) : null;
      panel.update(this.original[name], changed, encoded?.factors[index].probabilities ?? null);
    });
  }

  async #draw(state, signal) {
    const upload = state.upload;
    const wanted = [{ changes: {} }, this.#edit(upload)];
    const { images } = await edit(upload.z, upload.logVariance, wanted, 1, signal, this.#photograph(upload));
    const encoded = this.#encodedOf(upload);
    this.original = encoded
      ? Object.fromEntries(encoded.factors.map((factor) => [factor.name, factor.component]))
      : images[0].components;
    this.edited = images[1];
    this.reconstructed = images[0];
    this.#search();
    show(byId("input-figure"), encoded !== null);
    this.#showTrust(encoded);
    byId("restored").textContent = encoded ? [this.region ? OF_REGION : "", encoded.notice].filter(Boolean).join(" ") : RESTORED;
    show(byId("crop"), encoded !== null && this.crop.image !== null);
    if (encoded) await showPicture(byId("input"), encoded.input, state.smooth);
    await showPicture(byId("reconstruction"), images[0].png, state.smooth);
    await showPicture(byId("edited"), images[1].png, state.smooth);
    byId("edited").alt = upload.changes.size === 0 ? "The reconstruction, not changed"
      : "The image with " + [...upload.changes].map(([name, component]) => `${name} ${component}`).join(", ");
    showCommand(byId("edited-command"), images[1].command);
    this.#updatePanels(this.store.state.upload ?? upload);
  }
}
