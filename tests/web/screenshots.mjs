// Makes the screenshots of docs/explorer.md and docs/export.md from running servers.
//   node tests/web/screenshots.mjs ADDRESS OUT.png explore|phone|image|training|page [PORTRAIT.png]
// ADDRESS is that of a `facet serve` on models/portraits (for `training`, on a run of configs/demo.json that is still training;
// for `page`, that of static_server.mjs on an exported page of models/portraits).
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Browser, findBrowser, pause } from "./browser.mjs";

const [address, out, which, portrait] = process.argv.slice(2);
const picture = "seed=19&t=0.7&glasses=with&smile=smiling";
const pinned = encodeURIComponent("seed=19&t=0.7&glasses=without&smile=not%20smiling");
const browser = await Browser.start(findBrowser());

async function show(state, width, height, options) {
  await browser.resize(width, height, options);
  await browser.open(`${address}/#${state}`);
  await pause(2500); // until thumbnails and samples are loaded
}

const scenes = {
  explore: () => show(`${picture}&pin=${pinned}`, 1280, 940),
  training: () => show("view=training", 1280, 900),
  page: () => show("seed=13&t=0.5&glasses=with&smile=smiling&pin=" + encodeURIComponent("seed=13&t=0.5&glasses=without&smile=not%20smiling"), 1280, 940),
  phone: () => show(picture, 390, 844, { phone: true, dark: true }),
  async image() {
    await show("view=image", 1280, 860, { dark: true });
    await browser.chooseFile("#file", resolve(portrait));
    await browser.until("document.getElementById('edited').naturalWidth > 0");
    await browser.click("#code [data-factor=glasses] .switch");
    await browser.evaluate("scrollTo(0, 0)");
    await pause(5000); // until the announcement is gone
  },
};
await scenes[which]();
writeFileSync(out, await browser.screenshot());
await browser.end();
