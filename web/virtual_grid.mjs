// A grid of any number of cells of one size, of which only those in view exist. When a row leaves, its cells are moved to the row
// that comes, so that scrolling makes no nodes and touches the cells of one row alone.

/** Rows that exist above the view, and how many more below. */
const SPARE = { above: 1, below: 2 };

export class VirtualGrid {
  #count = 0;
  #drawn = "";
  #cells = [];
  #size = { width: 0, height: 0 };
  #kept = null;

  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} space inside of it, as high as all rows
   * @param {{width: number, height: number, make: () => {node: HTMLElement}, fill: (cell: object, place: number) => void,
   *   onView?: () => void}} rules `make` gives an empty cell, `fill` shows a place in it; `onView` follows a change of what is in view
   */
  constructor(scroller, space, rules) {
    Object.assign(this, { scroller, space, rules });
    scroller.addEventListener("scroll", () => this.layout(), { passive: true });
    new ResizeObserver(() => this.#measure()).observe(scroller);
  }

  get columns() {
    return Math.max(1, Math.floor(this.#size.width / this.rules.width));
  }

  /** The cells in view, each with its `place`. */
  get cells() {
    return [...this.#cells, this.#kept].filter((cell) => cell && !cell.node.hidden);
  }

  cellAt(place) {
    return this.cells.find((cell) => cell.place === place);
  }

  /** Another list of places: all cells are filled again. */
  setCount(count) {
    this.#count = count;
    this.#drawn = "";
    this.#resizeSpace();
    this.#measure();
  }

  /** Fills all cells in view again, because what they show has changed. */
  refill() {
    this.#drawn = "";
    this.layout();
  }

  #measure() {
    const { clientWidth: width, clientHeight: height } = this.scroller;
    if (width !== this.#size.width) this.#drawn = "";
    this.#size = { width, height };
    this.#resizeSpace();
    this.layout();
  }

  #resizeSpace() {
    const height = `${Math.ceil(this.#count / this.columns) * this.rules.height}px`;
    if (this.space.style.height !== height) this.space.style.height = height;
  }

  /** Scrolls as little as brings a place into view, or to the middle if it is far. */
  reveal(place) {
    if (this.#size.width === 0) return;
    const top = Math.floor(place / this.columns) * this.rules.height;
    const { scrollTop } = this.scroller;
    const [above, under] = [top - scrollTop, top + this.rules.height - scrollTop - this.#size.height];
    if (above >= 0 && under <= 0) return;
    const far = above < -this.rules.height || under > this.rules.height;
    this.scroller.scrollTop = far ? top - (this.#size.height - this.rules.height) / 2 : scrollTop + (above < 0 ? above : under);
    this.layout();
  }

  layout() {
    const { width, height } = this.#size;
    if (width === 0) return; // not shown
    const columns = this.columns;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / this.rules.height) - SPARE.above) * columns;
    const most = (Math.ceil(height / this.rules.height) + SPARE.above + SPARE.below) * columns;
    const last = Math.min(this.#count, first + most);
    const drawn = `${first} ${last} ${columns}`;
    if (drawn === this.#drawn) return;
    const all = this.#drawn === "";
    this.#drawn = drawn;
    this.#keepFocused(first, last, most);
    for (let place = first; place < last; ++place) this.#put(place % most, place, columns, all);
    this.#cells.forEach((cell, slot) => this.#hide(cell, slot >= most || cell.place < first || cell.place >= last));
    this.rules.onView?.();
  }

  /** The focused cell stays what it is when it leaves the view; so keys go on from where it is. */
  #keepFocused(first, last, most) {
    const kept = this.#kept;
    if (kept && (kept.node !== document.activeElement || (kept.place >= first && kept.place < last))) {
      this.#kept = null;
      const slot = kept.place % most;
      if (kept.node === document.activeElement) {
        this.#cells[slot]?.node.remove();
        this.#cells[slot] = kept;
      } else {
        kept.node.remove();
      }
    }
    const slot = this.#cells.findIndex((cell) => cell?.node === document.activeElement);
    if (slot < 0) return;
    const { place } = this.#cells[slot];
    if (place >= first && place < last && place % most === slot) return;
    this.#kept = this.#cells[slot];
    delete this.#cells[slot];
    if (place >= first && place < last) { // the window has another size: the cell has another slot
      this.#cells[place % most]?.node.remove();
      this.#cells[place % most] = this.#kept;
      this.#kept = null;
    }
  }

  #put(slot, place, columns, again) {
    let cell = this.#cells[slot];
    if (!cell) {
      cell = this.#cells[slot] = this.rules.make();
      this.space.append(cell.node);
    }
    if (cell.place === place && !again && !cell.node.hidden) return;
    const transform = `translate(${(place % columns) * this.rules.width}px, ${Math.floor(place / columns) * this.rules.height}px)`;
    if (cell.node.style.transform !== transform) cell.node.style.transform = transform;
    cell.place = place;
    this.rules.fill(cell, place);
  }

  #hide(cell, hidden) {
    if (cell.node.hidden !== hidden) cell.node.hidden = hidden;
  }
}
