// The grid of all combinations of two factors, with everything else as in the large picture. Each cell is a button
// that turns the large picture into this combination.

import { Newest, generate } from "./api.mjs";
import { byId, element, report, show } from "./dom.mjs";
import { choose, pictureKey, toRequest } from "./state.mjs";

/** The server's limit of states per request, and how many values of a factor fit on a screen. */
const STATES = 64;
const MOST_VALUES = 16;

export class Combinations {
  constructor(store) {
    this.store = store;
    this.grids = new Newest(report);
    this.key = "";
    byId("grid-rows").addEventListener("change", () => this.#choose());
    byId("grid-columns").addEventListener("change", () => this.#choose());
    byId("combinations").addEventListener("toggle", () => this.#toggle());
  }

  setModel(model) {
    this.model = model;
    this.key = "";
    const options = () => model.factors.map((factor) => element("option", { value: factor.name }, factor.name));
    byId("grid-rows").replaceChildren(...options());
    byId("grid-columns").replaceChildren(...options());
    show(byId("combinations"), model.factors.length > 1);
  }

  /** The default factors: named ones first, because their values have a meaning. */
  #standard() {
    const named = this.model.factors.filter((factor) => factor.named);
    const [rows, columns] = [...named, ...this.model.factors.filter((factor) => !factor.named)];
    return [rows.name, columns.name];
  }

  #choose() {
    let [rows, columns] = [byId("grid-rows").value, byId("grid-columns").value];
    if (rows === columns) {
      const old = this.store.state.grid ?? this.#standard();
      [rows, columns] = [old[1], old[0]]; // a factor has no combinations with itself: swap the two instead
    }
    this.store.set({ ...this.store.state, grid: [rows, columns] });
  }

  #toggle() {
    const open = byId("combinations").open;
    if (!this.model || open === (this.store.state.grid !== null)) return;
    this.store.set({ ...this.store.state, grid: open ? this.#standard() : null }, true);
  }

  update(state) {
    byId("combinations").open = state.grid !== null;
    if (state.grid === null) return;
    const [rows, columns] = state.grid.map((name) => this.model.factors.find((factor) => factor.name === name));
    byId("grid-rows").value = rows.name;
    byId("grid-columns").value = columns.name;
    this.grids.request((signal) => this.#draw(state, rows, columns, signal));
  }

  async #draw(state, rows, columns, signal) {
    const [down, across] = [rows, columns].map(shownComponents);
    const cells = down.flatMap((row) => across.map((column) => ({
      row, column, picture: choose(choose(state.picture, rows.name, row.name), columns.name, column.name),
    })));
    const key = JSON.stringify([state.grid, cells.map((cell) => pictureKey(cell.picture, this.model))]);
    if (key !== this.key) {
      const images = [];
      for (let first = 0; first < cells.length; first += STATES) {
        const states = cells.slice(first, first + STATES).map((cell) => toRequest(cell.picture, this.model));
        images.push(...(await generate(states, 1, signal)).images);
      }
      this.key = key;
      this.#table(rows, columns, down, across, cells, images);
    }
    this.#mark(state, rows, columns);
  }

  #table(rows, columns, down, across, cells, images) {
    const head = element("tr", {}, element("td"), ...across.map((column) => element("th", { scope: "col" }, column.name)));
    this.buttons = cells.map((cell, index) => ({ cell, node: this.#cell(rows, columns, cell, images[index].png) }));
    const body = down.map((row, y) => element("tr", {}, element("th", { scope: "row" }, row.name),
      ...this.buttons.slice(y * across.length, (y + 1) * across.length).map(({ node }) => element("td", {}, node))));
    const left = rows.components.length - down.length + columns.components.length - across.length;
    const omitted = left > 0 ? `; ${left} lighter or dead components left out` : "";
    const caption = element("caption", {}, `${rows.name} in rows, ${columns.name} in columns${omitted}`);
    byId("grid").replaceChildren(caption, element("thead", {}, head), element("tbody", {}, ...body));
  }

  #cell(rows, columns, cell, png) {
    const name = `${rows.name} ${cell.row.name}, ${columns.name} ${cell.column.name}`;
    return element("button", { class: "cell", type: "button", "aria-label": name, onclick: () => this.#take(rows, columns, cell) },
      element("img", { src: "data:image/png;base64," + png, alt: "", draggable: "false" }));
  }

  #take(rows, columns, cell) {
    const picture = choose(choose(this.store.state.picture, rows.name, cell.row.name), columns.name, cell.column.name);
    this.store.set({ ...this.store.state, picture });
  }

  /** Marks the cell with the values chosen in the large picture. */
  #mark(state, rows, columns) {
    const chosen = [rows, columns].map((factor) => state.picture.factors.get(factor.name)?.component);
    for (const { cell, node } of this.buttons) {
      node.setAttribute("aria-pressed", String(cell.row.name === chosen[0] && cell.column.name === chosen[1]));
    }
  }
}

/** All values of a named factor; the living components of a free one, only the heaviest if there are too many. */
function shownComponents(factor) {
  const candidates = factor.named ? factor.components : factor.components.filter((component) => component.living);
  const heaviest = [...candidates].sort((a, b) => b.weight - a.weight).slice(0, MOST_VALUES);
  return (heaviest.length > 0 ? heaviest : factor.components.slice(0, 1)).sort((a, b) => a.index - b.index);
}
