// Places of the page that once broke: narrow windows, many components, undo, the space bar, uploads of unusual files, slow
// servers, and who may use a server that other machines can reach.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SETTLED, pause } from "./browser.mjs";
import { WIDTHS, begin, serve, settings, stop, visit } from "./served.mjs";

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

for (const width of WIDTHS) {
  test(`nothing is cut off, overlaps or is squeezed at ${width} pixels`, async () => {
    await browser.resize(width, width === 844 ? 390 : 900, { phone: width === 390 });
    for (const view of ["explore", "image", "training"]) {
      await browser.open(`${server.address}/#view=${view}&seed=3`);
      await browser.until("document.getElementById('model-facts').textContent.includes('factor')");
      await pause(200);
      assert.ok((await browser.evaluate("document.documentElement.scrollWidth")) <= width, `${view} scrolls sideways`);
      const outside = await browser.evaluate(`[...document.querySelectorAll(".panel")].filter((panel) => panel.checkVisibility())
        .flatMap((panel) => {
          const area = panel.getBoundingClientRect();
          return [...panel.querySelectorAll("h3, .thumbnail, .switch, .panel-actions button")].filter((node) => {
            const box = node.getBoundingClientRect();
            const scrolls = node.closest(".strip");
            return node.checkVisibility() && !scrolls && (box.right > area.right + 1 || box.left < area.left - 1);
          }).map((node) => panel.dataset.factor + ": " + node.className + node.tagName);
        })`);
      assert.deepEqual(outside, [], view);
      const tall = await browser.evaluate(`[...document.querySelectorAll("h3")].filter((node) => node.checkVisibility())
        .filter((node) => node.getBoundingClientRect().height > 60).map((node) => node.textContent)`);
      assert.deepEqual(tall, [], `${view}: headings of one letter a line`);
    }
    await browser.resize(1280, 900);
  });
}

test("dead components are folded away, the others sorted by share", async () => {
  await open("#seed=3");
  const panel = "#factors [data-factor=first]";
  const options = () => browser.evaluate(`document.querySelectorAll("${panel} [role=radio]").length`);
  const living = await options();
  assert.ok(living < 256, `${living} of 256 are shown`);
  const shares = await browser.evaluate(`(async () => {
    const { model } = await (await fetch("api/v1/model")).json();
    const names = [...document.querySelectorAll("${panel} .option-name")].map((node) => node.textContent);
    const factor = model.factors.find(({ name }) => name === "first");
    return names.map((name) => factor.components.find((component) => component.name === name).weight);
  })()`);
  assert.deepEqual(shares, [...shares].sort((a, b) => b - a));
  await browser.click(`${panel} .fold`);
  assert.equal(await options(), 256);
  assert.match(await browser.evaluate(`document.querySelector("${panel} .fold").textContent`), /^Hide \d+ dead components?$/);
});

test("many components are a wall, sorted by share, number, similarity or label, and searched by number", async () => {
  await open("#seed=3");
  const wall = "#factors [data-factor=first] .wall";
  const names = () => browser.evaluate(`[...document.querySelectorAll("${wall} .option-name")].map((node) => node.textContent)`);
  const byShare = await names();
  const sort = (order) => browser.evaluate(`(() => {
    const choice = document.querySelector("#factors [data-factor=first] .wall-tools select");
    choice.value = "${order}";
    choice.dispatchEvent(new Event("change"));
  })()`);
  await sort("number");
  assert.deepEqual(await names(), [...byShare].sort((a, b) => a - b));
  await sort("similarity");
  await browser.until(`document.querySelector("${wall} .option-name").textContent === "${byShare[0]}"`);
  assert.deepEqual([...(await names())].sort(), [...byShare].sort());
  await sort("label");
  await browser.until(`document.querySelector("${wall} .option").title.includes("; ")`);
  const labels = await browser.evaluate(`[...document.querySelectorAll("${wall} .option")].map((node) => /; (.*) [<0-9]/.exec(node.title)?.[1] ?? "~")`);
  assert.deepEqual(labels, [...labels].sort(), "labels of one kind side by side, components without one last");
  assert.equal(labels.length, byShare.length);
  await browser.evaluate(`(() => {
    const search = document.querySelector("#factors [data-factor=first] .wall-tools input");
    search.value = "${byShare[3]}";
    search.dispatchEvent(new Event("input"));
  })()`);
  assert.ok((await names()).includes(byShare[3]));
  assert.ok((await browser.evaluate(`document.querySelector("${wall}").clientHeight`)) <= 420, "the wall scrolls by itself");
});

test("one step back after a slider undoes the slider and nothing else", async () => {
  await open("#seed=3&t=0.7&glasses=without");
  await browser.changes(() => browser.click("#factors [data-factor=glasses] .switch"));
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

test("phase 1 of a live run shows reconstructions of fixed images instead of switches, with its speed", async () => {
  const young = join(folder, "young");
  const endless = begin(young, settings("train.pretrain.steps=1000000", "train.checkpoint_every=40", "train.log_every=10"));
  for (let waited = 0; !existsSync(join(young, "model.safetensors")) && waited < 90000; waited += 200) await pause(200);
  const other = await serve(young);
  await browser.open(`${other.address}/#seed=3`);
  await browser.until("document.querySelectorAll('#pairs img').length === 24");
  assert.equal(await browser.evaluate("document.getElementById('explore-columns').hidden"), true);
  await browser.until("/steps per second, .* left in this phase/.test(document.getElementById('phase-one-speed').textContent)");
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
