// Random numbers for the local back end: uniform numbers that are a function of a seed and of what they are for, so that
// a factor keeps its numbers when another one is redrawn.

/** Four 32-bit words that depend on every character of a text (cyrb128). */
function hashed(text) {
  let [a, b, c, d] = [1779033703, 3144134277, 1013904242, 2773480762];
  for (let index = 0; index < text.length; ++index) {
    const code = text.charCodeAt(index);
    a = b ^ Math.imul(a ^ code, 597399067);
    b = c ^ Math.imul(b ^ code, 2869860233);
    c = d ^ Math.imul(c ^ code, 951274213);
    d = a ^ Math.imul(d ^ code, 2716044179);
  }
  a = Math.imul(c ^ (a >>> 18), 597399067);
  b = Math.imul(d ^ (b >>> 22), 2869860233);
  c = Math.imul(a ^ (c >>> 17), 951274213);
  d = Math.imul(b ^ (d >>> 19), 2716044179);
  return [a ^ b ^ c ^ d, b ^ a, c ^ a, d ^ a];
}

/** @returns {number[]} uniform numbers in (0, 1), by the generator sfc32 */
export function uniforms(count, seed, purpose) {
  let [a, b, c, counter] = hashed(`${seed}/${purpose}`);
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum | 0;
    return ((sum >>> 0) + 0.5) / 4294967296;
  };
  for (let skipped = 0; skipped < 12; ++skipped) next(); // until all words are mixed
  return Array.from({ length: count }, next);
}
