// Real portraits for the browser test: the images of a pack as PNG files, and a classifier of one property that is
// independent of the model: logistic regression on the pixels.
import { readFileSync } from "node:fs";
import { deflateSync } from "node:zlib";

/** The images of a pack and one of its properties. */
export class Portraits {
  constructor(path, property) {
    const bytes = readFileSync(path);
    const first = 8 + Number(bytes.readBigUInt64LE(0));
    const header = JSON.parse(bytes.toString("utf8", 8, first));
    const tensor = (name) => bytes.subarray(first + header[name].data_offsets[0], first + header[name].data_offsets[1]);
    const properties = JSON.parse(header.__metadata__.properties);
    const column = properties.findIndex((candidate) => candidate.name === property);
    [this.count, this.channels, this.height, this.width] = header.images.shape;
    this.pixels = tensor("images");
    const labels = tensor("labels");
    this.labels = Array.from({ length: this.count }, (_, row) => labels.readInt32LE(4 * (row * properties.length + column)));
  }

  /** Bytes of an image, channel by channel. */
  image(row) {
    const size = this.channels * this.height * this.width;
    return this.pixels.subarray(row * size, (row + 1) * size);
  }

  /** An image as the bytes of a PNG file. */
  png(row) {
    const planes = this.image(row);
    const area = this.height * this.width;
    const lines = Buffer.alloc(this.height * (1 + 3 * this.width)); // each begins with its filter, none
    for (let place = 0; place < 3 * area; ++place) {
      const [channel, y, x] = [Math.floor(place / area), Math.floor((place % area) / this.width), place % this.width];
      lines[y * (1 + 3 * this.width) + 1 + 3 * x + channel] = planes[place];
    }
    const head = Buffer.alloc(13);
    head.writeUInt32BE(this.width, 0);
    head.writeUInt32BE(this.height, 4);
    head.set([8, 2, 0, 0, 0], 8); // eight bits; red, green, blue
    const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
    return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(lines)), chunk("IEND", Buffer.alloc(0))]);
  }
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(checksum(body));
  return Buffer.concat([length, body, check]);
}

function checksum(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; ++bit) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}

export class Classifier {
  /** Trains on the first `count` portraits. */
  constructor(portraits, count) {
    this.weights = new Float64Array(portraits.image(0).length);
    this.bias = 0;
    for (let epoch = 0; epoch < 40; ++epoch) {
      const rate = 0.02 / (1 + epoch / 8);
      for (let row = 0; row < count; ++row) {
        const pixels = portraits.image(row);
        const fault = portraits.labels[row] - 1 / (1 + Math.exp(-this.score(pixels)));
        for (let place = 0; place < pixels.length; ++place) this.weights[place] += rate * fault * scaled(pixels[place]);
        this.bias += rate * fault;
      }
    }
  }

  /** Log odds that the property has its second value. */
  score(pixels) {
    let sum = this.bias;
    for (let place = 0; place < pixels.length; ++place) sum += this.weights[place] * scaled(pixels[place]);
    return sum;
  }

  /** Share of the portraits from `first` on that it classifies correctly. */
  accuracy(portraits, first) {
    let right = 0;
    for (let row = first; row < portraits.count; ++row) {
      const predicted = this.score(portraits.image(row)) > 0;
      right += Number(predicted === (portraits.labels[row] === 1));
    }
    return right / (portraits.count - first);
  }
}

function scaled(byte) {
  return byte / 127.5 - 1;
}
