// Labels that people give: to one image, to marked images, or to all images of a component, and which images to label next. They
// are kept in the run, so all of this is shown only if the server may write.

import { setLabels } from "./api.mjs";
import { announce, byId, counted, element, report, show } from "./dom.mjs";

export class Labelling {
  /**
   * @param {() => {factor: string|null, component: number|null}} chosen what is listed
   * @param {(changes: object) => void} choose lists something else
   * @param {() => void} onLabelled the list and what is known about labels are old
   * @param {() => void} onMark cells are marked or no longer
   */
  constructor({ chosen, choose, onLabelled, onMark }) {
    Object.assign(this, { chosen, choose, onLabelled, onMark, marked: new Set(), marking: false });
    byId("label-all").addEventListener("click", () => this.#label(chosen()));
    byId("label-next").addEventListener("click", () => this.#next());
    byId("mark").addEventListener("click", () => this.#setMarking(!this.marking));
    byId("label-marked").addEventListener("click", async () => {
      if (await this.#label({ rows: [...this.marked] })) this.#setMarking(false);
    });
  }

  setModel(model, write) {
    this.model = model;
    for (const id of ["labelling", "label-one"]) show(byId(id), write);
  }

  /** What is known about labels. @param {{properties: object[], given: object}} known */
  setKnown({ properties, given }) {
    const names = [...new Set([...properties.map(({ name }) => name), ...Object.keys(given)])];
    byId("data-unlabelled").replaceChildren(element("option", { value: "" }, "labelled or not"),
      ...names.map((name) => element("option", { value: name }, `without ${name}`)));
    byId("properties").replaceChildren(...names.map((name) => element("option", { value: name })));
    byId("label-values").replaceChildren(...properties.flatMap(({ values }) => values.map((value) => element("option", { value }))));
    const text = Object.entries(given).map(([name, count]) => `${name}: ${counted(count, "image")}`).join(", ");
    byId("given").textContent = text === "" ? "" : `Given here: ${text}`;
  }

  update() {
    const { factor, component } = this.chosen();
    show(byId("label-all"), factor !== null && component !== null);
  }

  #setMarking(marking) {
    this.marking = marking;
    this.marked.clear();
    this.#showMarked();
  }

  /** Marks an image or no longer, or all of several. @param {number[]} between those that a click with Shift means; else none */
  toggle(index, between) {
    if (between.length > 0) between.forEach((each) => this.marked.add(each));
    else if (!this.marked.delete(index)) this.marked.add(index);
    this.#showMarked();
  }

  #showMarked() {
    byId("mark").setAttribute("aria-pressed", String(this.marking));
    show(byId("label-marked"), this.marked.size > 0);
    byId("label-marked").textContent = `Label ${counted(this.marked.size, "marked image")}`;
    this.onMark();
  }

  /** The images without the property whose component is least certain, in the factor that has this property if there is one. */
  #next() {
    const property = this.#property();
    if (property === null) return;
    const { factor } = this.chosen();
    const own = this.model.factors.find((each) => each.property === property);
    if (![...byId("data-unlabelled").options].some(({ value }) => value === property)) { // nothing has it yet
      byId("data-unlabelled").append(element("option", { value: property }, `without ${property}`));
    }
    this.choose({ factor: own?.name ?? factor ?? this.model.factors[0].name, component: null, order: "borderline", unlabelled: property });
  }

  #property() {
    const property = byId("label-property").value.trim();
    if (property !== "") return property;
    announce("Write the property first, such as hair_style", true);
    byId("label-property").focus();
    return null;
  }

  async #label(target) {
    const property = this.#property();
    return property !== null && this.#send(property, byId("label-value").value.trim(), target);
  }

  /** Labels the image that is open. */
  async labelOne(index) {
    byId("label-property").value = byId("one-property").value;
    byId("label-value").value = byId("one-value").value;
    return this.#label({ rows: [index] });
  }

  async #send(property, value, { rows, factor, component }) {
    try {
      const { images } = await setLabels({ property, value, ...(rows ? { rows } : { factor, component }) });
      announce(value === "" ? `${counted(images, "label")} taken back` : `${counted(images, "image")} labelled ${property}: ${value}`);
      this.onLabelled();
      return true;
    } catch (error) {
      report(error);
      return false;
    }
  }
}
