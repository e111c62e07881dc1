// A dialog that names a factor or one of its components, with a suggestion where labels explain it. Names are kept in the run, so
// there is a dialog only if the server may write.

import { getStatements, setName } from "./api.mjs";
import { announce, byId, element, show } from "./dom.mjs";
import { componentLabel } from "./values.mjs";

export class NameDialog {
  /** @param {(rename: {from: string, to: string, component?: object}) => void} onRename */
  constructor(onRename) {
    this.onRename = onRename;
    byId("name-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save(byId("name-text").value.trim());
    });
    byId("name-own").addEventListener("click", () => this.#save(""));
    byId("name-close").addEventListener("click", () => byId("name-dialog").close());
    byId("name-target").addEventListener("change", () => this.#target());
    byId("name-suggestion").addEventListener("click", () => {
      byId("name-text").value = this.suggested;
      byId("name-text").focus();
    });
  }

  /** @param {number|null} component that is shown or chosen; null or -1 if there is none @param {boolean} first whether it is named first */
  open(factor, component, first) {
    this.factor = factor;
    this.says = null;
    const targets = [element("option", { value: "" }, `the factor ${factor.name}`)];
    if (component !== null && component >= 0) {
      targets.push(element("option", { value: component }, `${componentLabel(factor, factor.components[component])} of ${factor.name}`));
    }
    byId("name-target").replaceChildren(...targets);
    byId("name-target").value = first && targets.length > 1 ? String(component) : "";
    this.#target();
    byId("name-dialog").showModal();
    byId("name-text").select();
    getStatements().then(({ factors }) => {
      this.says = factors.find(({ name }) => name === factor.name);
      this.#suggest();
    }).catch(() => {}); // without data, or while they are encoded, there is nothing to suggest
  }

  get #component() {
    const { value } = byId("name-target");
    return value === "" ? null : Number(value);
  }

  #target() {
    const component = this.#component;
    const named = component === null ? this.factor : this.factor.components[component];
    byId("name-title").textContent = component === null ? "Name the factor" : "Name the component";
    byId("name-text").value = named.name;
    show(byId("name-own"), component === null ? Boolean(this.factor.original) : named.name !== String(named.index) && !this.factor.named);
    this.#suggest();
  }

  #suggest() {
    const component = this.#component;
    const said = component === null ? null : this.says?.components[component]?.says[0];
    this.suggested = component === null ? (this.says?.property ?? "") : (said?.value ?? "");
    const why = component === null ? "explains this factor" : said && `${said.property} of ${Math.round(100 * said.share)} % of its images`;
    show(byId("name-suggestion"), this.suggested !== "" && this.suggested !== byId("name-text").value);
    byId("name-suggestion").textContent = `Use “${this.suggested}”: ${why}`;
  }

  async #save(name) {
    const component = this.#component;
    const old = component === null ? this.factor.name : this.factor.components[component].name;
    try {
      await setName(this.factor.name, component, name);
    } catch (error) {
      byId("name-fault").textContent = error.message;
      return;
    }
    byId("name-fault").textContent = "";
    byId("name-dialog").close();
    const { name: from, original } = this.factor;
    this.onRename(component === null ? { from, to: name || original || from } : { from, to: from, component: { from: old, to: name || String(component) } });
    announce(`Renamed: ${old} is now ${name || "as in the model"}`);
    dispatchEvent(new Event("facet-changed"));
  }
}
