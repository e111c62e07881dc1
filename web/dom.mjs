// Small helpers that build the page. Text is always inserted as text, never as HTML: names come from the user's data.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** @param {Record<string, any>} attributes keys such as `onclick` add listeners */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function drawing(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** One of the symbols in index.html. It only decorates the text beside it. */
export function icon(name) {
  return drawing("svg", { class: "icon", "aria-hidden": "true" }, drawing("use", { href: `#icon-${name}` }));
}

export function byId(id) {
  return document.getElementById(id);
}

export function show(node, visible) {
  node.hidden = !visible;
}

/** Sets a text if it is another: the same one again would be drawn again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Replaces the panels of the factors, for example when a training run has saved a new model. Open details stay open
 * and the focus stays on the same control.
 */
export function replacePanels(place, panels) {
  const controls = (panel) => [...panel.querySelectorAll("button, input, summary")];
  const old = new Map([...place.children].map((panel) => [panel.dataset.factor, panel]));
  const focused = document.activeElement?.closest("[data-factor]");
  const index = focused && place.contains(focused) ? controls(focused).indexOf(document.activeElement) : -1;
  for (const panel of panels) {
    const details = panel.querySelector("details");
    if (details && old.get(panel.dataset.factor)?.querySelector("details")?.open) details.open = true;
  }
  place.replaceChildren(...panels);
  if (index >= 0) controls(panels.find((panel) => panel.dataset.factor === focused.dataset.factor) ?? place)[index]?.focus();
}

let clearing = 0;

/** Shows a message in the page's polite live region. Errors stay until the next message. */
export function announce(text, isError = false) {
  const region = byId("announcement");
  clearTimeout(clearing);
  region.classList.toggle("error", isError);
  region.textContent = text;
  if (!isError && text !== "") clearing = setTimeout(() => (region.textContent = ""), 4000);
}

/** Shows an error. A server that does not answer is shown by the header (connection.mjs). */
export function report(error) {
  if (error.isConnection) return;
  console.warn(error);
  announce(error.message, true);
}

/** "1 factor", "3,200 images". */
export function counted(count, thing, things = thing + "s") {
  return `${count.toLocaleString("en")} ${count === 1 ? thing : things}`;
}

/** Why the images cannot be searched yet. @param {{encoded: number, images: number}} data the latter is 0 until they are read */
export function encodingNotice({ encoded, images }) {
  if (images === 0) return "The images are being read.";
  return `The images are being encoded: ${encoded.toLocaleString("en")} of ${images.toLocaleString("en")}.`;
}

/** Shows a command line that wraps between words only and can still be copied as one line. */
export function showCommand(node, command) {
  const words = command.split(" ").map((word) => element("span", { class: "word" }, word));
  node.replaceChildren(...words.flatMap((word, index) => (index === 0 ? [word] : [" ", word])));
}

/** Copies text. Where the browser forbids the clipboard (a page without https), a selected text field is copied instead. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    announce(`${what} copied`);
  } catch {
    const field = element("textarea", { class: "off-screen", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    announce(copied ? `${what} copied` : `${what} could not be copied: ${text}`, !copied);
  }
}

export function pngBlob(base64) {
  return new Blob([Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0))], { type: "image/png" });
}

/** Downloads a PNG. */
export function download(base64, name) {
  save(pngBlob(base64), name);
}

export function downloadBytes(bytes, name, type) {
  save(new Blob([bytes], { type }), name);
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** A valid file name from words that may contain any character. */
export function fileName(words) {
  const name = words.join("-").replace(/[^\p{L}\p{N}.-]+/gu, "_").slice(0, 80);
  return (name || "facet") + ".png";
}

/** Shows a PNG at the model's resolution; the browser enlarges it, by repeating pixels or smoothly. */
export async function showPicture(image, base64, smooth) {
  image.classList.toggle("smooth", smooth);
  image.src = "data:image/png;base64," + base64;
  await image.decode();
}

/** The pixels of a picture, three numbers for each. */
export function pixelsOf(canvas) {
  const { data } = canvas.getContext("2d", { willReadFrequently: true }).getImageData(0, 0, canvas.width, canvas.height);
  return Float32Array.from(data.filter((_, place) => place % 4 < 3));
}
