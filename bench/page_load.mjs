// How long an exported page takes to its first picture in Chromium, from a file host on this machine, with an empty cache.
//   node bench/page_load.mjs FOLDER [RUNS]
import { Browser, findBrowser } from "../tests/web/browser.mjs";
import { serveFolder } from "../tests/web/static_server.mjs";

const [folder, runs = 5] = process.argv.slice(2);
const host = await serveFolder(folder);
const first = [];
const redraws = [];
for (let run = 0; run < Number(runs); ++run) {
  const browser = await Browser.start(findBrowser()); // a new one each time: browsers keep compiled code
  await browser.resize(1280, 900);
  await browser.open(`${host.address}/`);
  // The page looks at itself: asking it from outside would cost time too.
  first.push(await browser.evaluate(`new Promise((resolve) => {
    const look = () => document.getElementById("picture").naturalWidth > 0 ? resolve(performance.now()) : requestAnimationFrame(look);
    look();
  })`));
  redraws.push(await browser.evaluate(`(async () => {
    const { generate } = await import("./api.js");
    const begin = performance.now();
    for (let seed = 1; seed <= 20; ++seed) await generate([{ seed }], 8);
    return (performance.now() - begin) / 20;
  })()`));
  await browser.end();
}
await host.close();
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
console.log(`first picture after ${Math.round(median(first))} ms (${first.map(Math.round).join(", ")})`);
console.log(`a picture takes ${median(redraws).toFixed(1)} ms`);
