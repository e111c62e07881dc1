// The data behind the model: the real images of a component, most typical first, with borderline ones and outliers on
// request, what labels say about them, and one image with its code. The grid is virtual: only the rows in view exist, and
// images arrive in sheets of 64.

import { Newest, getImage, getImages, getStatements, setLabels, setName } from "./api.mjs";
import { announce, byId, counted, element, report, show } from "./dom.mjs";
import { ComponentMap } from "./map.mjs";
import { byShare, componentLabel, percent } from "./values.mjs";

const SHEET = 64;
const CELL = 76;
/** Sheets that are kept; older ones are requested again. */
const KEPT_SHEETS = 200;
const ORDERS = { typical: "most typical first", borderline: "borderline first", outliers: "outliers first", index: "as in the data" };

/** What labels say about a component, in a few words. */
export function statement(says) {
  return says.map(({ property, value, share }) => `${property.replaceAll("_", " ")}: ${value} ${Math.round(100 * share)} %`).join(", ");
}

export class DataView {
  constructor(store, openImage) {
    Object.assign(this, { store, openImage, sheets: new Map(), total: 0, marked: new Set() });
    this.statements = new Newest(report);
    this.lists = new Newest(report);
    byId("data-order").append(...Object.entries(ORDERS).map(([value, text]) => element("option", { value }, text)));
    byId("data-order").addEventListener("change", () => this.#choose({ order: byId("data-order").value }));
    byId("data-factor").addEventListener("change", () => this.#choose({ factor: byId("data-factor").value || null, component: null }));
    byId("data-unlabelled").addEventListener("change", () => this.#choose({ unlabelled: byId("data-unlabelled").value || null }));
    this.map = new ComponentMap((component, name) => {
      this.#choose({ component });
      announce(`Images of ${name}`);
    });
    this.scroller = byId("data-grid");
    this.scroller.addEventListener("scroll", () => this.#layout(), { passive: true });
    this.scroller.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#layout()).observe(this.scroller);
    byId("image-close").addEventListener("click", () => byId("image-dialog").close());
    byId("image-edit").addEventListener("click", () => this.#edit());
    byId("label-all").addEventListener("click", () => this.#labelComponent());
    byId("label-one").addEventListener("submit", (event) => this.#labelOne(event));
    byId("rename").addEventListener("click", () => this.#rename());
  }

  setModel(model, atlases, summary) {
    Object.assign(this, { model, atlases, summary });
    this.known = null;
    this.#forget();
    const { data } = this.store.state;
    byId("data-factor").replaceChildren(element("option", { value: "" }, "all images"),
      ...model.factors.map((factor) => element("option", { value: factor.name }, factor.name)));
    show(byId("labelling"), summary.write);
    show(byId("label-one"), summary.write);
    show(byId("rename"), summary.write);
    if (data.factor && !model.factors.some((factor) => factor.name === data.factor)) this.#choose({ factor: null, component: null });
  }

  setSummary(summary) {
    this.summary = summary;
  }

  #forget() {
    this.sheets.clear();
    this.total = 0;
    this.asked = null;
  }

  #choose(changes) {
    const data = { ...this.store.state.data, ...changes };
    this.store.set({ ...this.store.state, data });
  }

  update(state) {
    if (!this.model || state.view !== "data") return;
    const { available, ready, notice, encoded, images } = this.summary.nearest;
    byId("data-notice").textContent = !available ? notice || "This server has no images. Start it with --pack DATA.safetensors."
      : ready ? "" : `The images are being encoded: ${encoded.toLocaleString("en")} of ${images.toLocaleString("en")}.`;
    show(byId("data-panel"), available && ready);
    if (!available || !ready) return;
    if (!this.known) this.statements.request((signal) => this.#loadStatements(signal));
    byId("data-factor").value = state.data.factor ?? "";
    byId("data-order").value = state.data.order;
    byId("data-unlabelled").value = state.data.unlabelled ?? "";
    const key = JSON.stringify([state.data, this.model.version]);
    if (key !== this.key) {
      this.key = key;
      this.#forget();
      this.scroller.scrollTop = 0;
      this.#components(state.data);
      this.#request(0);
    }
  }

  async #loadStatements(signal) {
    this.known = await getStatements(signal);
    const names = [...new Set([...this.known.properties.map((property) => property.name), ...Object.keys(this.known.given)])];
    byId("data-unlabelled").replaceChildren(element("option", { value: "" }, "labelled or not"),
      ...names.map((name) => element("option", { value: name }, `without ${name}`)));
    byId("data-unlabelled").value = this.store.state.data.unlabelled ?? "";
    byId("properties").replaceChildren(...names.map((name) => element("option", { value: name })));
    byId("label-values").replaceChildren(...this.known.properties.flatMap((property) => property.values.map((value) => element("option", { value }))));
    const given = Object.entries(this.known.given).map(([name, count]) => `${name}: ${counted(count, "image")}`).join(", ");
    byId("given").textContent = given === "" ? "" : `Given here: ${given}`;
    this.#components(this.store.state.data);
  }

  #factor() {
    return this.model.factors.find((factor) => factor.name === this.store.state.data.factor);
  }

  /** The components of the chosen factor by share, each with its statement; dead ones are folded. */
  #components({ factor: name, component }) {
    const factor = this.model.factors.find((candidate) => candidate.name === name);
    this.map.update(factor, this.model, this.atlases);
    show(byId("data-components"), factor !== undefined);
    const property = factor && this.known?.factors.find((each) => each.name === name)?.property;
    byId("data-suggestion").textContent = property && !factor.named ? `The labels of ${property} explain this factor.` : "";
    byId("rename").textContent = factor && component !== null ? "Rename the component" : "Rename the factor";
    show(byId("rename"), factor !== undefined && this.summary.write);
    show(byId("label-all"), factor !== undefined && component !== null);
    if (!factor) return;
    const says = this.known?.factors.find((each) => each.name === name)?.components;
    const cards = byShare(factor).filter((index) => factor.components[index].living || (says?.[index].images ?? 0) > 0)
      .map((index) => this.#card(factor, index, says?.[index], String(component) === String(index)));
    const dead = factor.components.length - cards.length;
    byId("data-components").replaceChildren(...cards,
      ...(dead > 0 ? [element("p", { class: "note" }, `${counted(dead, "dead component")} not shown`)] : []));
  }

  #card(factor, index, known, chosen) {
    const component = factor.components[index];
    const text = known ? [counted(known.images, "image"), statement(known.says)].filter(Boolean).join(" · ") : percent(component.weight);
    return element("button", {
      class: "component-card", type: "button", "aria-pressed": String(chosen),
      onclick: () => this.#choose({ component: chosen ? null : index }),
    }, this.atlases.thumbnail(factor, index),
    element("span", { class: "card-text" }, element("strong", {}, componentLabel(factor, component)), element("span", { class: "note" }, text)));
  }

  // The virtual grid

  #request(sheet) {
    if (this.sheets.has(sheet)) return;
    const { data } = this.store.state;
    const key = this.key;
    this.sheets.set(sheet, null);
    if (this.sheets.size > KEPT_SHEETS) this.sheets.delete(this.sheets.keys().next().value);
    getImages({ ...data, offset: SHEET * sheet, count: SHEET }).then(async (answer) => {
      if (key !== this.key) return;
      this.total = answer.total;
      byId("data-count").textContent = counted(answer.total, "image");
      if (answer.sheet === "") return;
      const bytes = Uint8Array.from(atob(answer.sheet), (sign) => sign.charCodeAt(0));
      this.sheets.set(sheet, { ...answer, bitmap: await createImageBitmap(new Blob([bytes], { type: "image/png" })) });
      this.drawn = null;
      this.#layout();
    }).catch((error) => {
      this.sheets.delete(sheet);
      report(error);
    });
  }

  /** Places the cells of the rows in view; those of a row that leaves are moved to the row that comes. */
  #layout() {
    const { clientWidth, clientHeight, scrollTop } = this.scroller;
    const columns = Math.max(1, Math.floor(clientWidth / CELL));
    const first = Math.max(0, Math.floor(scrollTop / CELL) - 1) * columns;
    const most = (Math.ceil(clientHeight / CELL) + 3) * columns;
    const last = Math.min(this.total, first + most);
    const key = `${first} ${last} ${columns} ${this.total} ${this.key}`;
    if (key === this.drawn) return;
    this.drawn = key;
    byId("data-space").style.height = `${Math.ceil(this.total / columns) * CELL}px`;
    this.cells ??= [];
    for (let place = first; place < last; ++place) this.#cell(place % most, place, columns);
    this.cells.forEach((cell, slot) => show(cell.node, slot < most && cell.place >= first && cell.place < last));
  }

  #cell(slot, place, columns) {
    const [sheet, row] = [Math.floor(place / SHEET), place % SHEET];
    let cell = this.cells[slot];
    if (!cell) {
      const canvas = element("canvas", { class: "data-image" });
      cell = { canvas, node: element("button", { class: "data-cell", type: "button", onclick: () => this.#open(cell) }, canvas) };
      this.cells[slot] = cell;
      byId("data-space").insertBefore(cell.node, this.cells.slice(slot + 1).find((next) => next)?.node ?? null);
    }
    cell.node.style.transform = `translate(${(place % columns) * CELL}px, ${Math.floor(place / columns) * CELL}px)`;
    const loaded = this.sheets.get(sheet);
    if (loaded === undefined) this.#request(sheet);
    const image = loaded?.images[row];
    cell.place = place;
    if (cell.shown === image && image) return;
    cell.shown = image;
    const { width, height } = this.model.shape;
    [cell.canvas.width, cell.canvas.height] = [width, height];
    cell.node.setAttribute("aria-label", image ? `Image ${image.index}` : "Loading");
    if (!image) return;
    const [left, top] = [(row % loaded.columns) * width, Math.floor(row / loaded.columns) * height];
    cell.canvas.getContext("2d").drawImage(loaded.bitmap, left, top, width, height, 0, 0, width, height);
  }

  #key(event) {
    const columns = Math.max(1, Math.floor(this.scroller.clientWidth / CELL));
    const focused = this.cells?.find((cell) => cell?.node === document.activeElement);
    const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (!focused || !move) return;
    event.preventDefault();
    const place = Math.max(0, Math.min(this.total - 1, focused.place + move));
    const row = Math.floor(place / columns);
    if (row * CELL < this.scroller.scrollTop) this.scroller.scrollTop = row * CELL;
    const under = (row + 1) * CELL - this.scroller.clientHeight;
    if (under > this.scroller.scrollTop) this.scroller.scrollTop = under;
    this.#layout();
    this.cells.find((cell) => cell?.place === place && !cell.node.hidden)?.node.focus();
  }

  // One image

  async #open(cell) {
    if (!cell.shown) return;
    try {
      const { image } = await getImage(cell.shown.index);
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

  // What people add to the run

  async #rename() {
    const factor = this.#factor();
    const { component } = this.store.state.data;
    const known = this.known?.factors.find((each) => each.name === factor.name);
    const says = component === null ? known?.property : known?.components[component]?.says[0]?.value;
    const old = component === null ? factor.name : factor.components[component].name;
    const name = prompt(`A name for ${component === null ? "the factor" : "component"} ${old}. Nothing gives back its own name.`, says ?? old);
    if (name === null) return;
    try {
      await setName(factor.name, component, name.trim());
      if (component === null) this.store.set({ ...this.store.state, data: { ...this.store.state.data, factor: name.trim() || factor.original || factor.name } }, true);
      announce(`Renamed: ${old} is now ${name.trim() || "as in the model"}`);
      dispatchEvent(new Event("facet-changed"));
    } catch (error) {
      report(error);
    }
  }

  async #label(target) {
    const [property, value] = [byId("label-property").value.trim(), byId("label-value").value.trim()];
    if (property === "") {
      announce("Write the property first, such as hair_style", true);
      return;
    }
    try {
      const { images } = await setLabels({ property, value, ...target });
      announce(value === "" ? `${counted(images, "label")} taken back` : `${counted(images, "image")} labelled ${property}: ${value}`);
      this.#forget();
      this.key = null;
      this.known = null;
      this.update(this.store.state);
    } catch (error) {
      report(error);
    }
  }

  #labelComponent() {
    const { factor, component } = this.store.state.data;
    this.#label({ factor, component });
  }

  async #labelOne(event) {
    event.preventDefault();
    byId("label-property").value = byId("one-property").value;
    byId("label-value").value = byId("one-value").value;
    await this.#label({ rows: [this.opened.index] });
    this.#open({ shown: this.opened });
  }
}
