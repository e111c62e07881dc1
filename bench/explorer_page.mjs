// How fast the explorer is for one visitor and for many: milliseconds to the first picture and from a switch to its picture,
// frames per second while images and components scroll, pictures per second at scale 1 from eight clients, and the
// server's memory over many requests. Work is the CPU time of the page's thread, which other programs disturb less.
//   node bench/explorer_page.mjs PROGRAM RUN [REQUESTS [PACK]]
import { readFileSync } from "node:fs";
import { Browser, SETTLED, findBrowser, pause } from "../tests/web/browser.mjs";

const [program, run, requests = "10000", pack] = process.argv.slice(2);
process.env.FACET_PROGRAM = program;
const { serve, stop } = await import("../tests/web/served.mjs");

const quantile = (numbers, share) => [...numbers].sort((a, b) => a - b)[Math.floor(share * (numbers.length - 1))];

async function firstPicture(browser, address) {
  const times = [];
  for (let visit = 0; visit < 5; ++visit) {
    await browser.leave();
    const began = performance.now();
    await browser.send("Page.navigate", { url: `${address}/#seed=${visit + 1}` });
    await browser.until(`document.getElementById("picture") !== null && document.getElementById("picture").naturalWidth > 0 && ${SETTLED}`);
    times.push(performance.now() - began);
  }
  return quantile(times, 0.5);
}

const FRAMES = ["disabled-by-default-devtools.timeline.frame", "devtools.timeline.frame"];
const TASKS = ["devtools.timeline", "disabled-by-default-devtools.timeline", "toplevel"];

/** Milliseconds of CPU time of the thread that runs the page. */
function workOf(events) {
  const names = events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
  const isPage = ({ pid, tid }) => names.some((known) => known.pid === pid && known.tid === tid);
  return events.filter((event) => event.ph === "X" && event.name === "RunTask" && isPage(event)).reduce((sum, { tdur = 0 }) => sum + tdur / 1000, 0);
}

/** Milliseconds from a click to the decoded picture, measured in the page, and the work of a switch. */
async function switches(browser) {
  let times = [];
  const events = await browser.trace(TASKS, async () => {
    times = await browser.evaluate(`(async () => {
      const [image, times] = [document.getElementById("picture"), []];
      const buttons = [...document.querySelectorAll("#factors .switch, #factors [role=radio]")].filter((node) => node.checkVisibility());
      for (let turn = 0; turn < 100; ++turn) {
        const began = performance.now();
        const old = image.src;
        buttons[(7 * turn) % buttons.length].click();
        while (image.src === old && performance.now() - began < 1000) await new Promise((resolve) => setTimeout(resolve, 1));
        await image.decode();
        if (image.src !== old) times.push(performance.now() - began);
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      return times;
    })()`);
  });
  return { times, work: workOf(events) / 100 };
}

/** Frames that Chromium drew per second, by its trace, while an element scrolls for three seconds, and the work of one. */
async function frames(browser, selector) {
  let seconds = 0;
  const events = await browser.trace([...FRAMES, ...TASKS], async () => {
    seconds = await browser.evaluate(`(async () => {
      const node = document.querySelector("${selector}");
      const began = performance.now();
      while (performance.now() - began < 3000) {
        node.scrollTop += 40;
        if (node.scrollTop + node.clientHeight >= node.scrollHeight - 1) node.scrollTop = 0;
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
      return (performance.now() - began) / 1000;
    })()`);
  });
  const drawn = events.filter(({ name }) => name === "DrawFrame").length;
  return `${(drawn / seconds).toFixed(0)} frames per second, work ${(workOf(events) / drawn).toFixed(1)} ms per frame`;
}

function residentMiB(child) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))[1]) / 1024;
}

async function load(address, count) {
  let next = 0;
  const began = performance.now();
  await Promise.all(Array.from({ length: 8 }, async () => {
    while (next < count) {
      const body = JSON.stringify({ states: [{ seed: ++next }], scale: 1 });
      const answer = await fetch(`${address}/api/v1/generate`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      await answer.arrayBuffer();
    }
  }));
  return count / ((performance.now() - began) / 1000);
}

const server = await serve(run, pack ? ["--pack", pack] : []);
const browser = await Browser.start(findBrowser());
await browser.resize(1280, 900);
console.log(`first picture: ${(await firstPicture(browser, server.address)).toFixed(0)} ms (median of 5)`);
const { times, work } = await switches(browser);
console.log(`switch to picture: median ${quantile(times, 0.5).toFixed(0)} ms, 95th percentile ${quantile(times, 0.95).toFixed(0)} ms (${times.length} switches), `
  + `work ${work.toFixed(1)} ms, ${await browser.evaluate("document.querySelectorAll('*').length")} nodes`);
if (await browser.evaluate("document.querySelector('#factors .wall') !== null")) {
  console.log(`wall of components: ${await frames(browser, "#factors .wall")}`);
}
await browser.open(`${server.address}/#view=data&images=,,index,`);
await browser.until("document.querySelectorAll('.data-cell').length > 8", 1200000); // once all images are encoded
await pause(500);
console.log(`grid of ${await browser.text("data-count")}: ${await frames(browser, "#data-grid")}`);
const factor = await browser.evaluate("[...document.querySelectorAll('#data-factor option')].at(-1).value");
await browser.open(`${server.address}/#view=data&images=${encodeURIComponent(factor)},,typical,`);
await browser.until("document.querySelectorAll('.component-card').length > 3");
await pause(500);
if (await browser.evaluate("(({ scrollHeight, clientHeight }) => scrollHeight > 2 * clientHeight)(document.getElementById('component-cards'))")) {
  console.log(`cards of components: ${await frames(browser, "#component-cards")}`);
}
await browser.end();
await load(server.address, 500);
const before = residentMiB(server.child);
const speed = await load(server.address, Number(requests));
console.log(`scale 1, 8 clients: ${speed.toFixed(0)} pictures per second`);
console.log(`memory: ${before.toFixed(0)} MiB before and ${residentMiB(server.child).toFixed(0)} MiB after ${requests} requests`);
await stop(server);
