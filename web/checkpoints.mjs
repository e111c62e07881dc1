// Samples over training: a slider through the pictures that a run keeps at its checkpoints, always of the same draws. The charts'
// cursor is at the step that is shown.

import { Newest, getProgress } from "./api.mjs";
import { byId, report, show } from "./dom.mjs";
import { phaseName } from "./phases.mjs";

export class Checkpoints {
  /** @param {ChartGroup} group whose cursor follows the slider */
  constructor(group) {
    Object.assign(this, { group, pictures: [], phases: [] });
    this.requests = new Newest(report);
    byId("checkpoint").addEventListener("input", () => this.#show());
    byId("checkpoint").addEventListener("blur", () => this.group.point(null));
  }

  /** Asks for new pictures. @param {{phase: string, first: number}[]} phases on the axis of the charts */
  update(phases) {
    this.phases = phases;
    this.requests.request(async (signal) => {
      const { pictures } = await getProgress(signal);
      const slider = byId("checkpoint");
      const atEnd = this.pictures.length === 0 || Number(slider.value) === this.pictures.length - 1;
      const grown = pictures.length !== this.pictures.length;
      this.pictures = pictures;
      show(byId("progress"), pictures.length > 0);
      if (pictures.length === 0 || !grown) return;
      slider.max = String(pictures.length - 1);
      if (atEnd) slider.value = slider.max;
      this.#show(false);
    });
  }

  #show(moved = true) {
    const number = Number(byId("checkpoint").value);
    const { phase, step, address } = this.pictures[number];
    const text = `phase ${phaseName(phase)}, step ${step.toLocaleString("en")}`;
    byId("checkpoint").setAttribute("aria-valuetext", text);
    byId("checkpoint-text").textContent = text;
    byId("checkpoint-number").textContent = `${number + 1}/${this.pictures.length}`;
    byId("checkpoint-picture").src = address;
    byId("checkpoint-picture").alt = `Samples at ${text}`;
    const first = this.phases.find((each) => each.phase === phase)?.first;
    if (moved && first !== undefined) this.group.point(first + step);
  }
}
