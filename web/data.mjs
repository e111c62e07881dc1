// The data behind the model: the real images of a component, most typical first, with borderline ones and outliers on
// request, what labels say about them, and one image with its code. The grid is virtual: only the rows in view exist, and
// images arrive in sheets of 64.

import { Newest, getImage, getImages, getStatements } from "./api.mjs";
import { ComponentCards } from "./cards.mjs";
import { announce, byId, counted, element, encodingNotice, pngBlob, report, show } from "./dom.mjs";
import { Labelling } from "./labels.mjs";
import { ComponentMap } from "./map.mjs";
import { SpriteSheet, clear } from "./sprites.mjs";
import { percent } from "./values.mjs";
import { VirtualGrid } from "./virtual_grid.mjs";

const SHEET = 64;
/** Pixels of a cell of the grid, and of the image in it. */
const CELL = { side: 76, image: 68 };
/** Sheets that are kept; older ones are requested again. */
const KEPT_SHEETS = 200;
const ORDERS = { typical: "most typical first", borderline: "borderline first", outliers: "outliers first", index: "as in the data" };

export class DataView {
  /** @param {(file: File) => void} openImage takes an image to be edited @param {NameDialog} names */
  constructor(store, openImage, names) {
    Object.assign(this, { store, openImage, names, sheets: new Map(), total: -1, markedAt: null });
    this.statements = new Newest(report);
    byId("data-order").append(...Object.entries(ORDERS).map(([value, text]) => element("option", { value }, text)));
    byId("data-order").addEventListener("change", () => this.#choose({ order: byId("data-order").value }));
    byId("data-factor").addEventListener("change", () => this.#choose({ factor: byId("data-factor").value || null, component: null }));
    byId("data-unlabelled").addEventListener("change", () => this.#choose({ unlabelled: byId("data-unlabelled").value || null }));
    this.map = new ComponentMap((component, name) => {
      this.#choose({ component });
      announce(`Images of ${name}`);
    });
    this.cards = new ComponentCards((component) => this.#choose({ component }));
    this.labelling = new Labelling({
      chosen: () => this.store.state.data, choose: (changes) => this.#choose(changes), onLabelled: () => this.#refresh(),
      onMark: () => this.grid.refill(),
    });
    this.scroller = byId("data-grid");
    this.scroller.addEventListener("keydown", (event) => this.#key(event));
    this.grid = new VirtualGrid(this.scroller, byId("data-space"), {
      width: CELL.side, height: CELL.side, make: () => this.#cell(), fill: (cell, place) => this.#fill(cell, place),
    });
    byId("image-close").addEventListener("click", () => byId("image-dialog").close());
    byId("image-edit").addEventListener("click", () => this.#edit());
    byId("label-one").addEventListener("submit", (event) => this.#labelOne(event));
    byId("rename").addEventListener("click", () => names.open(this.#factor(), this.store.state.data.component, true));
  }

  setModel(model, atlases, summary) {
    Object.assign(this, { model, atlases, summary });
    this.known = null;
    this.#forget();
    const { data } = this.store.state;
    byId("data-factor").replaceChildren(element("option", { value: "" }, "all images"),
      ...model.factors.map((factor) => element("option", { value: factor.name }, factor.name)));
    this.labelling.setModel(model, summary.write);
    if (data.factor && !model.factors.some((factor) => factor.name === data.factor)) this.#choose({ factor: null, component: null });
  }

  setSummary(summary) {
    this.summary = summary;
  }

  #forget() {
    for (const sheet of [...this.sheets.keys()]) this.#drop(sheet);
    this.total = -1;
    this.key = null;
  }

  /** Labels have changed. */
  #refresh() {
    this.#forget();
    this.known = null;
    this.update(this.store.state);
  }

  #choose(changes) {
    const data = { ...this.store.state.data, ...changes };
    this.store.set({ ...this.store.state, data });
  }

  update(state) {
    if (!this.model || state.view !== "data") return;
    const { available, ready, notice } = this.summary.nearest;
    byId("data-notice").textContent = !available ? notice || "This server has no images. Start it with --pack DATA.safetensors."
      : ready ? "" : encodingNotice(this.summary.nearest);
    show(byId("data-panel"), available && ready);
    if (!available || !ready) return;
    if (!this.known) this.statements.request((signal) => this.#loadStatements(signal));
    byId("data-factor").value = state.data.factor ?? "";
    byId("data-order").value = state.data.order;
    byId("data-unlabelled").value = state.data.unlabelled ?? "";
    const key = JSON.stringify([state.data, this.model.version]);
    if (key !== this.key) {
      this.#forget();
      this.key = key;
      this.scroller.scrollTop = 0;
      this.#components(state.data);
      this.#request(0);
    }
  }

  async #loadStatements(signal) {
    this.known = await getStatements(signal);
    this.labelling.setKnown(this.known);
    byId("data-unlabelled").value = this.store.state.data.unlabelled ?? "";
    this.#components(this.store.state.data);
  }

  #factor() {
    return this.model.factors.find((factor) => factor.name === this.store.state.data.factor);
  }

  /** The components of the chosen factor, each with its statement. */
  #components({ factor: name, component }) {
    const factor = this.#factor();
    this.map.update(factor, this.model, this.atlases);
    const says = this.known?.factors.find((each) => each.name === name);
    this.cards.update(factor, this.atlases, says?.components, component);
    byId("data-suggestion").textContent = says?.property && !factor.named ? `The labels of ${says.property} explain this factor.` : "";
    byId("rename").textContent = factor && component !== null ? "Rename the component" : "Rename the factor";
    show(byId("rename"), factor !== undefined && this.summary.write);
    this.labelling.update();
  }

  // The virtual grid

  #request(sheet) {
    if (this.sheets.has(sheet)) return;
    const { data } = this.store.state;
    const key = this.key;
    this.sheets.set(sheet, null);
    if (this.sheets.size > KEPT_SHEETS) this.#drop(this.sheets.keys().next().value);
    getImages({ ...data, offset: SHEET * sheet, count: SHEET }).then((answer) => {
      if (key !== this.key) return;
      if (this.total !== answer.total) {
        this.total = answer.total;
        this.grid.setCount(answer.total);
      }
      byId("data-count").textContent = counted(answer.total, "image");
      if (answer.sheet === "" || !this.sheets.has(sheet)) return;
      const sprites = new SpriteSheet(pngBlob(answer.sheet), this.model.shape, answer.columns, answer.images.length);
      this.sheets.set(sheet, { images: answer.images, sprites });
      this.grid.refill();
    }).catch((error) => {
      this.sheets.delete(sheet);
      report(error);
    });
  }

  #drop(sheet) {
    this.sheets.get(sheet)?.sprites.close();
    this.sheets.delete(sheet);
  }

  #cell() {
    const picture = element("span", { class: "data-image" });
    const cell = { picture, shown: null };
    cell.node = element("button", { class: "data-cell", type: "button", onclick: (event) => this.#click(cell, event) }, picture);
    return cell;
  }

  /** Shows an image in a cell, if it has arrived. */
  #fill(cell, place) {
    const [sheet, row] = [Math.floor(place / SHEET), place % SHEET];
    const loaded = this.sheets.get(sheet);
    if (loaded === undefined) this.#request(sheet);
    else this.sheets.delete(sheet) && this.sheets.set(sheet, loaded); // used last, so dropped last
    const image = loaded?.images[row] ?? null;
    if (this.labelling.marking && image) cell.node.setAttribute("aria-pressed", String(this.labelling.marked.has(image.index)));
    else cell.node.removeAttribute("aria-pressed");
    if (cell.shown === image && image) return;
    cell.shown = image;
    cell.node.setAttribute("aria-label", image ? `Image ${image.index}` : "Loading");
    if (image) loaded.sprites.show(cell.picture, row, CELL.image);
    else clear(cell.picture);
  }

  /** Opens an image, or marks it; with Shift, all from the one before. */
  #click(cell, event) {
    if (!cell.shown) return;
    if (!this.labelling.marking) {
      this.#open(cell.shown.index);
      return;
    }
    const [from, to] = [Math.min(this.markedAt, cell.place), Math.max(this.markedAt, cell.place)];
    const between = event.shiftKey && this.markedAt !== null
      ? Array.from({ length: to - from + 1 }, (_, step) => this.#imageAt(from + step)).filter(Boolean).map(({ index }) => index) : [];
    this.markedAt = cell.place;
    this.labelling.toggle(cell.shown.index, between);
  }

  /** An image of the list, if it has arrived. */
  #imageAt(place) {
    return this.sheets.get(Math.floor(place / SHEET))?.images[place % SHEET];
  }

  #key(event) {
    const focused = this.grid.cells.find((cell) => cell.node === document.activeElement);
    const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.grid.columns, ArrowUp: -this.grid.columns }[event.key];
    if (!focused || !move) return;
    event.preventDefault();
    const place = Math.max(0, Math.min(this.total - 1, focused.place + move));
    this.grid.reveal(place);
    this.grid.cellAt(place)?.node.focus();
  }

  // One image

  async #open(index) {
    try {
      const { image } = await getImage(index);
      this.opened = image;
      byId("image-large").src = "data:image/png;base64," + image.png;
      byId("image-large").alt = `Image ${image.index}`;
      byId("image-title").textContent = `Image ${image.index.toLocaleString("en")}`;
      byId("image-facts").textContent = `${image.file}, ${image.split} split. More typical than ${Math.round(image.typicality)} % of the test images.`;
      const rows = this.model.factors.map((factor) => {
        const { component, probability } = image.code[factor.name];
        return element("tr", {}, element("th", { scope: "row" }, factor.name), element("td", {}, factor.components[component].name),
          element("td", { class: probability < 0.6 ? "number doubtful" : "number" }, percent(probability)));
      });
      byId("image-code").replaceChildren(...rows);
      const labels = Object.entries(image.labels).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`).join(", ");
      byId("image-labels").textContent = labels || "no labels";
      if (!byId("image-dialog").open) byId("image-dialog").showModal();
    } catch (error) {
      report(error);
    }
  }

  #edit() {
    byId("image-dialog").close();
    const bytes = Uint8Array.from(atob(this.opened.png), (sign) => sign.charCodeAt(0));
    this.openImage(new File([bytes], this.opened.file, { type: "image/png" }));
  }

  async #labelOne(event) {
    event.preventDefault();
    if (await this.labelling.labelOne(this.opened.index)) this.#open(this.opened.index);
  }
}
