// Places of the page that once broke (layout_test.mjs has windows of all widths): many components, undo, the space bar, uploads of unusual files, slow
// servers, and who may use a server that other machines can reach.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SETTLED, pause } from "./browser.mjs";
import { begin, expectAccessible, facet, serve, settings, stop, visit } from "./served.mjs";

// Many components for few images: most of them die.
const training = settings("model.factors.2.components=256", "train.joint.steps=20");
const { folder, run, browser, server } = await visit("mended", { training });

async function open(state = "") {
  await browser.open(`${server.address}/${state}`);
  await browser.until(SETTLED);
}

const pressed = (factor, number) =>
  browser.evaluate(`document.querySelector("#factors [data-factor=${factor}] .panel-actions button:nth-child(${number})").getAttribute("aria-pressed")`);
const action = (factor, number) => `#factors [data-factor=${factor}] .panel-actions button:nth-child(${number})`;
const [ANY, HOLD] = [1, 2];

const panel = "#factors [data-factor=first]";

/** All options of the wall in their order, read by scrolling through it: only those in view exist. */
function wallOptions() {
  return browser.evaluate(`(async () => {
    const wall = document.querySelector("${panel} .wall");
    const [found, start] = [new Map(), wall.scrollTop];
    let count = 0;
    for (let top = 0; ; top += wall.clientHeight / 2) {
      wall.scrollTop = top;
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
      for (const node of wall.querySelectorAll("[role=radio]:not([hidden])")) {
        found.set(Number(node.ariaPosInSet), { name: node.querySelector(".option-name").textContent, title: node.title });
        count = Number(node.ariaSetSize);
      }
      if (top + wall.clientHeight >= wall.scrollHeight) break;
    }
    wall.scrollTop = start;
    return Array.from({ length: count }, (_, place) => found.get(place + 1));
  })()`);
}

const wallNames = async () => (await wallOptions()).map(({ name }) => name);

test("dead components are folded away, the others sorted by share", async () => {
  await open("#seed=3");
  const living = await wallNames();
  assert.ok(living.length < 256, `${living.length} of 256 are shown`);
  const shares = await browser.evaluate(`(async () => {
    const { model } = await (await fetch("api/v1/model")).json();
    const factor = model.factors.find(({ name }) => name === "first");
    return ${JSON.stringify(living)}.map((name) => factor.components.find((component) => component.name === name).weight);
  })()`);
  assert.deepEqual(shares, [...shares].sort((a, b) => b - a));
  await browser.click(`${panel} .fold`);
  assert.equal((await wallNames()).length, 256);
  assert.match(await browser.evaluate(`document.querySelector("${panel} .fold").textContent`), /^Hide \d+ dead components?$/);
});

test("many components are a wall, sorted by share, number, similarity or label, and searched by number", async () => {
  await open("#seed=3");
  const byShare = await wallNames();
  const sort = (order) => browser.evaluate(`(() => {
    const choice = document.querySelector("${panel} .wall-tools select");
    choice.value = "${order}";
    choice.dispatchEvent(new Event("change"));
  })()`);
  await sort("number");
  assert.deepEqual(await wallNames(), [...byShare].sort((a, b) => a - b));
  await sort("similarity");
  await browser.until(`document.querySelector("${panel} [aria-posinset='1'] .option-name").textContent === "${byShare[0]}"`);
  assert.deepEqual([...(await wallNames())].sort(), [...byShare].sort());
  await sort("label");
  await browser.until(`document.querySelector("${panel} [aria-posinset='1']").title.includes("; ")`);
  const labels = (await wallOptions()).map(({ title }) => /; (.*) [<0-9]/.exec(title)?.[1] ?? "~");
  assert.deepEqual(labels, [...labels].sort(), "labels of one kind side by side, components without one last");
  assert.equal(labels.length, byShare.length);
  await browser.evaluate(`(() => {
    const search = document.querySelector("${panel} .wall-tools input");
    search.value = "${byShare[3]}";
    search.dispatchEvent(new Event("input"));
  })()`);
  assert.ok((await wallNames()).includes(byShare[3]));
  assert.ok((await browser.evaluate(`document.querySelector("${panel} .wall").clientHeight`)) <= 420, "the wall scrolls by itself");
});

test("a wall sorted by label waits until the images are encoded, and says so", async () => {
  await open("#seed=3");
  await browser.evaluate(`(() => {
    window.kept = window.fetch;
    window.fetch = async (path, options) => {
      const response = await window.kept(path, options);
      if (!String(path).endsWith("/model")) return response;
      const summary = await response.json();
      return new Response(JSON.stringify({ ...summary, nearest: { ...summary.nearest, ready: false, encoded: 0, images: 0 } }));
    };
    dispatchEvent(new Event("facet-changed"));
  })()`);
  await browser.until("document.getElementById('nearest-text').textContent === 'The images are being read.'");
  await browser.evaluate(`(() => {
    const choice = document.querySelector("${panel} .wall-tools select");
    choice.value = "label";
    choice.dispatchEvent(new Event("change"));
  })()`);
  await browser.until(`document.querySelector("${panel} .wall-tools .note").textContent === "The images are being read."`);
  await browser.evaluate("window.fetch = window.kept; dispatchEvent(new Event('facet-changed'))");
  await browser.until(`document.querySelector("${panel} [aria-posinset='1']").title.includes("; ")`);
  assert.equal(await browser.evaluate(`document.querySelector("${panel} .wall-tools .note").textContent`), "");
});

test("a wall has nodes for the components in view alone, and a switch touches those that change", async () => {
  await open("#seed=3");
  await browser.click(`${panel} .fold`);
  const nodes = () => browser.evaluate(`document.querySelectorAll("${panel} [role=radio]").length`);
  assert.ok((await nodes()) < 120, `${await nodes()} nodes for 256 components`);
  assert.equal(await browser.evaluate(`document.querySelectorAll("${panel} canvas").length`), 0); // each would be a layer of its own
  await browser.evaluate(`(() => {
    window.touched = new Set();
    const watch = (list) => list.forEach(({ target }) => window.touched.add(target.nodeType === 1 ? target.closest("[role=radio]") : target.parentElement.closest("[role=radio]")));
    new MutationObserver(watch).observe(document.querySelector("${panel} .wall"), { subtree: true, childList: true, attributes: true, characterData: true });
  })()`);
  const other = `${panel} [role=radio][aria-checked=false]:not([hidden]):nth-child(5)`;
  await browser.changes(() => browser.click(other));
  assert.equal(await browser.evaluate("[...window.touched].filter(Boolean).length"), 2); // the old choice and the new one
});

test("keys move over a wall to components that are not in view", async () => {
  await open("#seed=3");
  const names = await wallNames();
  await browser.changes(() => browser.click(`${panel} [role=radio]:not([hidden], [aria-checked=true])`));
  const focused = () => browser.evaluate("document.activeElement.querySelector('.option-name').textContent");
  await browser.press("Home");
  await browser.until(`document.activeElement.ariaPosInSet === "1" && ${SETTLED}`);
  assert.equal(await focused(), names[0]);
  await browser.press("End");
  await browser.until(`document.activeElement.ariaPosInSet === "${names.length}" && ${SETTLED}`);
  assert.equal(await focused(), names.at(-1));
  assert.match(await browser.evaluate("location.hash"), new RegExp(`first=${names.at(-1)}$`));
  await browser.evaluate(`document.querySelector("${panel} .wall").scrollTop = 0`); // the focused one leaves the view, and keeps the focus
  await pause(100);
  await browser.press("ArrowLeft");
  await browser.until(`document.activeElement.ariaPosInSet === "${names.length - 1}"`);
});

test("live thumbnails of a wall follow its scrolling", async () => {
  await open("#seed=3&thumbs=live");
  const missing = `[...document.querySelectorAll("${panel} [role=radio]:not([hidden]) .thumbnail")].filter((node) => node.dataset.live !== "live").length`;
  await browser.until(`${missing} === 0`);
  await browser.evaluate(`document.querySelector("${panel} .wall").scrollTop = 1e6`);
  await browser.until(`document.querySelector("${panel} .wall").scrollTop > 0`);
  await pause(50);
  await browser.until(`${missing} === 0`);
});

test("one step back after a slider undoes the slider and nothing else", async () => {
  await open("#seed=3&t=0.7&glasses=without");
  const possible = () => browser.evaluate("['undo', 'redo'].map((id) => !document.getElementById(id).disabled && document.getElementById(id).checkVisibility())");
  assert.deepEqual(await possible(), [false, false]); // both can be seen to have nothing to do
  await browser.changes(() => browser.click("#factors [data-factor=glasses] .switch"));
  assert.deepEqual(await possible(), [true, false]);
  const before = await browser.source();
  await browser.evaluate(`(() => {
    const slider = document.getElementById("temperature");
    for (const value of [0.8, 0.9, 1.2, 1.5]) {
      slider.value = value;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }
  })()`);
  await browser.until("location.hash.includes('t=1.5')");
  await browser.changes(() => browser.click("#undo"));
  assert.deepEqual(await possible(), [true, true]);
  assert.equal(await browser.source(), before);
  assert.match(await browser.evaluate("location.hash"), /t=0.7&glasses=with$/);
  await browser.changes(() => browser.click("#redo"));
  assert.match(await browser.evaluate("location.hash"), /t=1.5&glasses=with$/);
});

test("Any and Hold are never on together", async () => {
  await open("#seed=3");
  assert.deepEqual([await pressed("style", ANY), await pressed("style", HOLD)], ["true", "false"]);
  await browser.click(action("style", HOLD));
  assert.deepEqual([await pressed("style", ANY), await pressed("style", HOLD)], ["false", "true"]);
  await browser.click(action("style", ANY));
  assert.deepEqual([await pressed("style", ANY), await pressed("style", HOLD)], ["true", "false"]);
});

test("the space bar redraws after a click on a thumbnail", async () => {
  await open("#seed=3&style=bald");
  await browser.changes(() => browser.click("#factors [data-factor=style] [role=radio]:nth-child(2)"));
  await browser.changes(() => browser.press(" "));
  assert.doesNotMatch(await browser.evaluate("location.hash"), /seed=3&/);
});

test("the seed can be written; what is no seed is refused", async () => {
  await open("#seed=3");
  const write = (text) => browser.evaluate(`(() => {
    const field = document.getElementById("seed");
    field.value = "${text}";
    field.dispatchEvent(new Event("change", { bubbles: true }));
  })()`);
  await browser.changes(() => write("77"));
  assert.match(await browser.evaluate("location.hash"), /seed=77/);
  await write("seven");
  await browser.until("document.getElementById('announcement').textContent.includes('whole number')");
  assert.equal(await browser.evaluate("document.getElementById('seed').value"), "77");
});

/** A JPEG of two halves, red above blue, with an orientation in its EXIF. */
function exifJpeg(jpeg, orientation) {
  const tiff = Buffer.from("49492a00080000000100120103000100000000000000000000000000", "hex").subarray(0, 26);
  tiff.writeUInt16LE(orientation, 18);
  const body = Buffer.concat([Buffer.from("Exif\0\0"), tiff]);
  const segment = Buffer.alloc(4);
  segment.writeUInt16BE(0xffe1, 0);
  segment.writeUInt16BE(body.length + 2, 2);
  return Buffer.concat([jpeg.subarray(0, 2), segment, body, jpeg.subarray(2)]);
}

/** A picture that the browser draws, as a file of a type. */
async function drawnFile(type, script, width, height) {
  const base64 = await browser.evaluate(`(async () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [${width}, ${height}];
    const context = canvas.getContext("2d");
    ${script}
    return canvas.toDataURL("${type}", 0.95).split(",")[1];
  })()`);
  return Buffer.from(base64, "base64");
}

async function notice(file) {
  return browser.evaluate(`(async () => {
    const bytes = Uint8Array.from(atob("${file.toString("base64")}"), (sign) => sign.charCodeAt(0));
    const type = bytes[0] === 0x89 ? "image/png" : "image/jpeg";
    const answer = await (await fetch("api/v1/encode", { method: "POST", headers: { "Content-Type": type }, body: bytes })).json();
    return answer;
  })()`);
}

test("an upload is turned as its camera says, its size is width by height, and transparency is mentioned", async () => {
  await open("#seed=3");
  const jpeg = await drawnFile("image/jpeg", "context.fillStyle = 'red'; context.fillRect(0, 0, 40, 15); context.fillStyle = 'blue'; context.fillRect(0, 15, 40, 15);", 40, 30);
  const turned = await notice(exifJpeg(jpeg, 6)); // a quarter turn: red is at the right
  assert.deepEqual(turned.original, { channels: 3, height: 40, width: 30 });
  assert.match(turned.notice, /^30x40 RGB \(width x height\) made 16x16 RGB: cropped to the centre, resized$/);
  const colours = await browser.evaluate(`(async () => {
    const image = new Image();
    image.src = "data:image/png;base64,${turned.input}";
    await image.decode();
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return [...context.getImageData(2, 8, 1, 1).data, ...context.getImageData(13, 8, 1, 1).data];
  })()`);
  assert.ok(colours[2] > 200 && colours[4] > 200, `left ${colours.slice(0, 3)}, right ${colours.slice(4, 7)}`);
  const clear = await notice(await drawnFile("image/png", "context.clearRect(0, 0, 16, 16);", 16, 16));
  assert.match(clear.notice, /laid on white where it is transparent/);
});

test("a slow answer shows a ring over the picture after 300 milliseconds", async () => {
  await open("#seed=3");
  await browser.evaluate("(() => { const real = window.fetch; window.fetch = async (...words) => { await new Promise((r) => setTimeout(r, 900)); return real(...words); }; })()");
  await browser.click("#redraw");
  await pause(100);
  assert.equal(await browser.evaluate("document.getElementById('picture-frame').classList.contains('waiting')"), false);
  await browser.until("document.getElementById('picture-frame').classList.contains('waiting')", 2000);
  await browser.until("!document.getElementById('picture-frame').classList.contains('waiting')");
});

test("a request without an answer ends after 20 seconds, and the page says that it reconnects", async () => {
  await open("#seed=3");
  await browser.evaluate(`(() => {
    window.limits = [];
    const real = AbortSignal.timeout;
    AbortSignal.timeout = (milliseconds) => {
      window.limits.push(milliseconds);
      return real.call(AbortSignal, milliseconds / 40);
    };
    window.realFetch = window.fetch;
    window.fetch = (address, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  })()`);
  await browser.click("#redraw");
  await browser.until("document.getElementById('connection').textContent.includes('Reconnecting')", 20000);
  assert.deepEqual(await browser.evaluate("[...new Set(window.limits)]"), [20000]);
  assert.equal(await browser.evaluate("getComputedStyle(document.getElementById('download')).visibility"), "hidden"); // the file would be an old one
  await browser.evaluate("window.fetch = window.realFetch");
  await browser.until(`document.getElementById('connection').hidden && ${SETTLED}`);
});

test("a model without metrics is finished, and one factor is one factor", async () => {
  const passed = join(folder, "passed");
  facet("export", "model", run, "--out", passed);
  const other = await serve(passed);
  await browser.open(`${other.address}/#seed=3`);
  await browser.until(SETTLED);
  assert.equal(await browser.text("status"), "finished");
  assert.match(await browser.text("model-facts"), /^3 factors, \d+ latent dimensions, /);
  assert.equal(await browser.evaluate("import('./dom.mjs').then(({ counted }) => counted(1, 'factor'))"), "1 factor");
  await browser.leave();
  await stop(other);
});

test("what to move within is named in quotes", async () => {
  await open("#seed=3&glasses=without");
  assert.equal(await browser.evaluate("document.querySelector('#factors [data-factor=glasses] summary').textContent"), "Move within “without”");
});

test("phase 1 of a live run shows reconstructions of fixed images instead of switches, with its speed", async () => {
  const young = join(folder, "young");
  const endless = begin(young, settings("train.pretrain.steps=1000000", "train.checkpoint_every=40", "train.log_every=10"));
  for (let waited = 0; !existsSync(join(young, "model.safetensors")) && waited < 90000; waited += 200) await pause(200);
  const other = await serve(young);
  await browser.open(`${other.address}/#seed=3`);
  await browser.until("document.querySelectorAll('#pairs img').length === 24");
  assert.equal(await browser.evaluate("document.getElementById('explore-columns').hidden"), true);
  await browser.until("/steps per second, .* left in this phase/.test(document.getElementById('phase-one-speed').textContent)");
  await expectAccessible(browser);
  endless.kill();
  await browser.leave();
  await stop(other);
});

test("a server that other machines can reach needs the token of its address", async () => {
  const other = await serve(run, ["--host", "0.0.0.0"]);
  const address = new URL(other.address);
  assert.match(address.search, /^\?token=[0-9a-f]{32}$/);
  assert.match(other.warning(), /lets other machines connect/);
  const base = `http://127.0.0.1:${address.port}`;
  const token = address.searchParams.get("token");
  for (const path of ["/", "/app.mjs", "/api/v1/model"]) assert.equal((await fetch(base + path)).status, 401, path);
  const model = (value) => fetch(`${base}/api/v1/model`, { headers: { Authorization: `Bearer ${value}` } });
  assert.equal((await model(token)).status, 200);
  assert.equal((await model(token.replace(/./, "x"))).status, 401);
  assert.equal((await model("")).status, 401);
  await browser.open(`${base}/?token=${token}#seed=4`);
  await browser.until(SETTLED);
  assert.equal(await browser.evaluate("location.search"), ""); // it left the address and stays as a cookie
  assert.match(await browser.evaluate("location.hash"), /seed=4/);
  await browser.leave();
  await stop(other);
});

test("the console shows no error and no warning", () => {
  assert.deepEqual(browser.complaints, []);
});
