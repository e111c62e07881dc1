// Animated PNG from PNG files of one size: the frames' own compressed pixels in the chunks of an animation, so that nothing is
// encoded again. Browsers and most viewers play it, others show the first frame.

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let word = index;
  for (let bit = 0; bit < 8; ++bit) word = word & 1 ? 0xedb88320 ^ (word >>> 1) : word >>> 1;
  return word;
});

function checksum(bytes) {
  let word = 0xffffffff;
  for (const byte of bytes) word = TABLE[(word ^ byte) & 0xff] ^ (word >>> 8);
  return (word ^ 0xffffffff) >>> 0;
}

function bigEndian(...numbers) {
  return numbers.flatMap((number) => [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff));
}

function chunk(type, data) {
  const named = Uint8Array.from([...type].map((sign) => sign.charCodeAt(0)).concat([...data]));
  return [...bigEndian(data.length), ...named, ...bigEndian(checksum(named))];
}

/** The chunks of a PNG file. @returns {{type: string, data: Uint8Array}[]} */
export function chunksOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chunks = [];
  for (let at = SIGNATURE.length; at + 12 <= bytes.length;) {
    const size = view.getUint32(at);
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    chunks.push({ type, data: bytes.subarray(at + 8, at + 8 + size) });
    at += 12 + size;
  }
  return chunks;
}

/**
 * @param {Uint8Array[]} frames PNG files of the same size and kind
 * @param {number} milliseconds of each frame
 * @returns {Uint8Array} a file that plays for ever
 */
export function animatedPng(frames, milliseconds) {
  const first = chunksOf(frames[0]);
  const head = first.find(({ type }) => type === "IHDR").data;
  const size = [...head.subarray(0, 8)];
  const bytes = [...SIGNATURE, ...chunk("IHDR", head), ...chunk("acTL", bigEndian(frames.length, 0))];
  let sequence = 0;
  frames.forEach((frame, index) => {
    const control = [...bigEndian(sequence++), ...size, ...bigEndian(0, 0), milliseconds >> 8, milliseconds & 0xff, 1000 >> 8, 1000 & 0xff, 0, 0];
    bytes.push(...chunk("fcTL", control));
    for (const { data } of chunksOf(frame).filter(({ type }) => type === "IDAT")) {
      bytes.push(...(index === 0 ? chunk("IDAT", data) : chunk("fdAT", [...bigEndian(sequence++), ...data])));
    }
  });
  bytes.push(...chunk("IEND", []));
  return Uint8Array.from(bytes);
}
