// The components of a factor as radio buttons: few in a strip that scrolls sideways; many on a wall that is sorted and searched, of
// which only the cells in view exist. Arrow keys move the choice. Those of a free factor are sorted by their share of
// the images, and dead ones are folded away.

import { getStatements } from "./api.mjs";
import { counted, element, pixelsOf, report, setText, show } from "./dom.mjs";
import { similarityOrder, squaredDistances } from "./projection.mjs";
import { byShare, componentLabel, largestShare, percent, probabilityBar, shareBar, showLivePicture } from "./values.mjs";
import { VirtualGrid } from "./virtual_grid.mjs";

/** Components that fit into a strip; more are a wall. */
const LONGEST_STRIP = 24;
/** Pixels of a cell of a wall: its height without and with the line of its probability, and its width for short and long names. */
const CELL = { height: 100, coded: 122, narrow: 74, letter: 7.5, wide: 150 };

export class ComponentStrip {
  /** @param {boolean} coded whether options show probabilities too */
  constructor(factor, atlases, choose, coded) {
    Object.assign(this, { factor, choose, atlases, coded, shown: -1, probabilities: null, cells: new Map(), live: new Map(), says: new Map() });
    this.largest = largestShare(factor);
    const living = factor.components.filter((component) => factor.named || component.living);
    this.order = byShare(factor, living.length > 0 ? living : factor.components);
    const isLiving = new Set(this.order);
    this.dead = factor.components.map((component) => component.index).filter((index) => !isLiving.has(index));
    this.isWall = factor.components.length > LONGEST_STRIP;
    this.group = element("div", {
      class: this.isWall ? "wall" : "strip", role: "radiogroup", "aria-label": factor.name, onkeydown: (event) => this.#key(event),
    });
    if (this.isWall) this.#makeGrid();
    this.fold = element("button", { class: "small fold", type: "button", onclick: () => this.#unfold(!this.unfolded) });
    this.node = element("div", { class: "values" }, ...(this.isWall ? [this.#tools()] : []), this.group, this.fold);
    this.#arrange();
  }

  #makeGrid() {
    const longest = Math.max(...this.factor.components.map(({ name }) => name.length));
    const width = Math.min(CELL.wide, Math.max(CELL.narrow, Math.ceil(12 + CELL.letter * longest)));
    const space = element("div", { class: "wall-space", role: "none" });
    this.group.append(space);
    this.grid = new VirtualGrid(this.group, space, {
      width, height: this.coded ? CELL.coded : CELL.height,
      make: () => this.#cell(width - 6),
      fill: (cell, place) => this.#fill(cell, this.visible[place], place),
      onView: () => {
        this.#focusable();
        this.onView?.();
      },
    });
  }

  /** A button without a component yet. */
  #cell(width) {
    const cell = { index: -1, name: element("span", { class: "option-name" }), share: shareBar(), bar: this.coded ? probabilityBar() : null };
    cell.thumbnail = element("span", { class: "thumbnail", "aria-hidden": "true" });
    cell.node = element("button", { class: "option", type: "button", role: "radio", tabindex: -1, onclick: () => this.choose(cell.index) },
      cell.thumbnail, cell.name, cell.share.node, cell.bar?.node);
    if (width) cell.node.style.width = `${width}px`;
    return cell;
  }

  /** Shows a component in a cell. */
  #fill(cell, index, place) {
    if (cell.index !== index) {
      const component = this.factor.components[index];
      const name = componentLabel(this.factor, component);
      const images = `${counted(Math.round(component.images), "image")}, ${percent(component.weight)} of all${component.living ? "" : ", dead"}`;
      cell.index = index;
      cell.node.classList.toggle("dead", !component.living);
      cell.node.setAttribute("aria-label", `${name}, ${images}`);
      cell.facts = `${name}: ${images}`;
      setText(cell.name, component.name);
      cell.share.set(component.weight / this.largest);
      this.#picture(cell);
    }
    cell.node.title = cell.facts + (this.says.get(index) ?? "");
    if (this.isWall) {
      cell.node.setAttribute("aria-posinset", String(place + 1));
      cell.node.setAttribute("aria-setsize", String(this.visible.length));
    }
    this.#mark(cell);
  }

  /** The mean picture of a cell's component, or the present picture with it (live.mjs). */
  #picture(cell) {
    const { index, thumbnail } = cell;
    const live = this.live.get(index);
    if (live) {
      showLivePicture(thumbnail, live, this.atlases.model.shape);
      return;
    }
    delete thumbnail.dataset.live;
    const draw = () => this.atlases.show(thumbnail, this.factor, index, () => cell.index === index && !this.live.has(index));
    if (this.isWall || cell.placed) draw().catch(report); // a wall has cells in view alone
    else this.atlases.whenSeen(thumbnail, draw);
    cell.placed = true;
  }

  /** Whether a cell is chosen, and its probability. */
  #mark(cell) {
    cell.node.setAttribute("aria-checked", String(cell.index === this.shown));
    if (!cell.bar) return;
    show(cell.bar.node, this.probabilities !== null);
    if (this.probabilities) cell.bar.set(this.probabilities[cell.index]);
  }

  #shownCells() {
    return this.isWall ? this.grid.cells : this.visible.map((index) => this.cells.get(index));
  }

  /** Search and order of a wall. */
  #tools() {
    this.search = element("input", {
      type: "search", placeholder: "number or name", "aria-label": `Search the components of ${this.factor.name}`, oninput: () => this.#arrange(),
    });
    this.sorting = element("select", { "aria-label": `Order of the components of ${this.factor.name}`, onchange: () => this.#sort() },
      element("option", { value: "share" }, "by share"), element("option", { value: "number" }, "by number"),
      element("option", { value: "similarity" }, "by similarity"), element("option", { value: "label" }, "by label"));
    this.found = element("span", { class: "note", role: "status" });
    return element("div", { class: "wall-tools" }, this.search, this.sorting, this.found);
  }

  async #sort() {
    if (this.sorting.value === "similarity" && !this.similar) await this.#compare().catch(report);
    if (this.sorting.value === "label" && !this.labelled) await this.#askLabels().catch(report);
    this.group.scrollTop = 0;
    this.#arrange();
  }

  /** What labels say, once the images are encoded; null if meanwhile another order was chosen or the wall is gone. */
  async #statements() {
    while (this.sorting.value === "label" && this.sorting.isConnected) {
      try {
        return await getStatements();
      } catch (error) {
        if (error.status !== 503) throw error;
        this.found.textContent = error.message;
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }
    return null;
  }

  /** The order by what labels say most of each component, which its title then names; those of which they say nothing come last. */
  async #askLabels() {
    const statements = await this.#statements();
    if (!statements) return;
    const components = statements.factors.find(({ name }) => name === this.factor.name)?.components ?? [];
    const said = this.order.map((index) => ({ index, says: components[index]?.says[0] }));
    const known = said.filter(({ says }) => says);
    for (const { index, says } of known) this.says.set(index, `; ${says.property}: ${says.value} ${percent(says.share)}`);
    known.sort((a, b) => a.says.property.localeCompare(b.says.property) || a.says.value.localeCompare(b.says.value) || b.says.share - a.says.share);
    this.labelled = [...known, ...said.filter(({ says }) => !says)].map(({ index }) => index);
    this.found.textContent = known.length === 0 ? "no labels" : "";
  }

  /** The order in which neighbours have mean pictures that are alike. */
  async #compare() {
    const pixels = await Promise.all(this.order.map(async (index) => pixelsOf(await this.atlases.canvas(this.factor, index))));
    this.similar = similarityOrder(squaredDistances(pixels), pixels.length).map((place) => this.order[place]);
  }

  #sorted(indices) {
    const chosen = this.sorting?.value ?? "share";
    if (chosen === "number") return [...indices].sort((a, b) => a - b);
    return { similarity: this.similar, label: this.labelled }[chosen] ?? indices;
  }

  /** Shows the wanted options in their order. */
  #arrange() {
    const wanted = this.search?.value.trim().toLowerCase() ?? "";
    const fits = (index) => {
      const { name } = this.factor.components[index];
      return wanted === "" || String(index) === wanted || name.toLowerCase().includes(wanted);
    };
    this.visible = [...this.#sorted(this.order), ...(this.unfolded || wanted !== "" ? this.dead : [])].filter(fits);
    show(this.group, this.visible.length > 0);
    if (this.isWall) this.grid.setCount(this.visible.length);
    else this.group.replaceChildren(...this.visible.map((index) => this.#option(index)));
    if (this.found && wanted !== "") this.found.textContent = `${this.visible.length} found`;
    else if (this.found && this.sorting.value !== "label") this.found.textContent = "";
    show(this.fold, this.dead.length > 0 && wanted === "");
    this.fold.setAttribute("aria-expanded", String(this.unfolded === true));
    this.fold.textContent = `${this.unfolded ? "Hide" : "Show"} ${counted(this.dead.length, "dead component")}`;
    this.#focusable();
  }

  /** The option of a strip, which is made once. */
  #option(index) {
    if (!this.cells.has(index)) {
      const cell = this.#cell();
      this.cells.set(index, cell);
      this.#fill(cell, index, 0);
    }
    return this.cells.get(index).node;
  }

  #unfold(open) {
    this.unfolded = open;
    this.#arrange();
  }

  #key(event) {
    const last = this.visible.length - 1;
    const focused = this.#shownCells().find((cell) => cell.node === document.activeElement);
    if (!focused) return;
    const from = this.visible.indexOf(focused.index);
    const row = this.isWall ? this.grid.columns : 1;
    const around = (to) => (to > last ? 0 : to < 0 ? last : to);
    const to = {
      ArrowRight: around(from + 1), ArrowLeft: around(from - 1), ArrowDown: row === 1 ? around(from + 1) : Math.min(last, from + row),
      ArrowUp: row === 1 ? around(from - 1) : Math.max(0, from - row), Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (this.isWall) this.grid.reveal(to);
    this.#shownCells().find((cell) => cell.index === this.visible[to])?.node.focus();
    this.choose(this.visible[to]);
  }

  // Live thumbnails (live.mjs)

  /** The components that are on the screen. */
  visibleOptions() {
    return this.isWall ? this.grid.cells.map(({ index }) => index) : this.visible;
  }

  /** @param {{address: string, kind: string}} picture the present picture with a component, or what it changes */
  showLive(index, picture) {
    this.live.set(index, picture);
    const cell = this.#shownCells().find((each) => each.index === index);
    if (cell) this.#picture(cell);
  }

  /** Live pictures are old: those in view stay until there are new ones, the others are forgotten. */
  forgetLive() {
    const seen = new Set(this.visibleOptions());
    for (const index of this.live.keys()) if (!seen.has(index)) this.live.delete(index);
  }

  showMeans() {
    if (this.live.size === 0) return;
    this.live.clear();
    for (const cell of this.isWall ? this.grid.cells : this.cells.values()) this.#picture(cell);
  }

  /** Tab leads to the chosen option, or to the first that is shown. */
  #focusable() {
    const cells = this.#shownCells();
    const place = this.visible.indexOf(this.shown);
    const target = cells.find((cell) => cell.index === this.shown && place >= 0) ?? cells.toSorted((a, b) => (a.place ?? 0) - (b.place ?? 0))[0];
    for (const cell of cells) {
      const index = cell === target ? 0 : -1;
      if (cell.node.tabIndex !== index) cell.node.tabIndex = index;
    }
  }

  /** Touches the options that change alone: a wall may have hundreds, and this is done for every picture. */
  update(selected, drawn, probabilities) {
    if (this.dead.includes(selected) && !this.unfolded) this.#unfold(true);
    this.group.classList.toggle("drawn", drawn);
    this.group.classList.toggle("with-probabilities", probabilities !== null);
    const all = probabilities !== this.probabilities;
    const moved = selected !== this.shown;
    if (!moved && !all) return;
    const old = this.shown;
    this.shown = selected;
    this.probabilities = probabilities;
    const cells = this.isWall ? this.grid.cells : [...this.cells.values()];
    for (const cell of cells) if (all || cell.index === old || cell.index === selected) this.#mark(cell);
    this.#focusable();
    if (moved) this.#reveal(this.visible.indexOf(selected));
  }

  /** Scrolls only the strip or the wall; scrollIntoView would scroll the page too. */
  #reveal(place) {
    if (place < 0) return;
    if (this.isWall) {
      this.grid.reveal(place);
      return;
    }
    const { node } = this.cells.get(this.visible[place]);
    this.group.scrollLeft = node.offsetLeft - this.group.offsetLeft - (this.group.clientWidth - node.clientWidth) / 2;
  }
}
