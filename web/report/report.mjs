// The curves of a report: the explorer's charts in place of the printed drawings, with one cursor and one range of steps for all.
// `facet report` writes this file into its page, after dom.mjs and curves.mjs; on paper and without scripts the drawings stay.

import { Chart, ChartGroup } from "../curves.mjs";
import { byId } from "../dom.mjs";

const together = new ChartGroup();
const numbers = JSON.parse(byId("curves-data").textContent);
document.querySelectorAll("#curves figure").forEach((figure, index) => {
  const { title, fromZero, lines, phases } = numbers[index];
  const chart = new Chart(title, "", fromZero, together);
  figure.classList.add("live");
  figure.querySelector("svg").classList.add("printed");
  figure.querySelector("h4").after(chart.readout, chart.svg);
  chart.update(lines, phases);
});
