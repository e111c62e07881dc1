// The components of a factor as cards beside their images: by share, each with its mean picture and what labels say about it. Dead
// ones are folded away. A factor may have hundreds, so only the cards in view exist.

import { byId, counted, element, report, setText, show } from "./dom.mjs";
import { byShare, componentLabel, percent } from "./values.mjs";
import { VirtualGrid } from "./virtual_grid.mjs";

/** Pixels from one card to the next; cards are so wide that there is one column. */
const CARD = { width: 1e6, height: 80 };

/** What labels say about a component, in a few words. */
export function statement(says) {
  return says.map(({ property, value, share }) => `${property.replaceAll("_", " ")}: ${value} ${Math.round(100 * share)} %`).join(", ");
}

export class ComponentCards {
  /** @param {(component: number|null) => void} choose */
  constructor(choose) {
    Object.assign(this, { choose, listed: [], unfolded: false });
    this.grid = new VirtualGrid(byId("component-cards"), byId("card-space"), {
      ...CARD, make: () => this.#card(), fill: (card, place) => this.#fill(card, this.listed[place]),
    });
    byId("data-fold").addEventListener("click", () => {
      this.unfolded = !this.unfolded;
      this.#list();
    });
  }

  /**
   * @param {object|undefined} factor without one there are no cards
   * @param {{images: number, says: object[]}[]|undefined} says by component, once it is known
   * @param {number|null} chosen component
   */
  update(factor, atlases, says, chosen) {
    if (factor !== this.factor) this.unfolded = false;
    const moved = factor !== this.factor || chosen !== this.chosen;
    Object.assign(this, { factor, atlases, says, chosen });
    show(byId("data-components"), factor !== undefined);
    if (!factor) return;
    this.#list();
    const place = this.listed.indexOf(chosen);
    if (moved && place >= 0) this.grid.reveal(place);
  }

  #list() {
    const { factor } = this;
    const isShown = (index) => factor.components[index].living || (this.says?.[index].images ?? 0) > 0;
    const all = byShare(factor);
    const dead = all.filter((index) => !isShown(index));
    this.listed = [...all.filter(isShown), ...(this.unfolded ? dead : [])];
    this.grid.setCount(this.listed.length);
    show(byId("data-fold"), dead.length > 0);
    byId("data-fold").setAttribute("aria-expanded", String(this.unfolded));
    setText(byId("data-fold"), `${this.unfolded ? "Hide" : "Show"} ${counted(dead.length, "dead component")}`);
  }

  #card() {
    const card = { name: element("strong"), note: element("span", { class: "note" }), thumbnail: element("span", { class: "thumbnail", "aria-hidden": "true" }) };
    card.node = element("button", {
      class: "component-card", type: "button", onclick: () => this.choose(card.index === this.chosen ? null : card.index),
    }, card.thumbnail, element("span", { class: "card-text" }, card.name, card.note));
    return card;
  }

  #fill(card, index) {
    const component = this.factor.components[index];
    const known = this.says?.[index];
    const text = known ? [counted(known.images, "image"), statement(known.says)].filter(Boolean).join(" · ") : percent(component.weight);
    const key = `${this.factor.name} ${this.atlases.model.version} ${index}`;
    card.index = index;
    card.node.setAttribute("aria-pressed", String(index === this.chosen));
    card.node.classList.toggle("dead", !component.living);
    setText(card.name, componentLabel(this.factor, component));
    setText(card.note, text);
    card.node.title = text;
    if (card.key === key) return;
    card.key = key;
    this.atlases.show(card.thumbnail, this.factor, index, () => card.key === key).catch(report);
  }
}
