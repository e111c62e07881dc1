// Pictures in the worker of an exported page: from pixels of the model to PNG files, and from any image to the model's
// pixels.

/** @returns {ImageData} of pixels [C, H, W] in [0, 1] */
export function toImageData(pixels, { channels, height, width }) {
  const image = new ImageData(width, height);
  const plane = height * width;
  for (let place = 0; place < plane; ++place) {
    // The array clamps and rounds.
    for (let colour = 0; colour < 3; ++colour) image.data[4 * place + colour] = 255 * pixels[(channels === 1 ? 0 : colour) * plane + place];
    image.data[4 * place + 3] = 255;
  }
  return image;
}

/** Pixels [C, H, W] in [0, 1]; grey is the luma, as in `facet import`. @param {ImageData} image */
export function fromImageData(image, channels) {
  const plane = image.width * image.height;
  const pixels = new Float32Array(channels * plane);
  for (let place = 0; place < plane; ++place) {
    const [red, green, blue] = image.data.subarray(4 * place, 4 * place + 3);
    if (channels === 1) pixels[place] = Math.floor((299 * red + 587 * green + 114 * blue + 500) / 1000) / 255;
    else [red, green, blue].forEach((value, colour) => (pixels[colour * plane + place] = value / 255));
  }
  return pixels;
}

/** The centred window of an image with the aspect ratio of the model's. */
export function centred(image, shape) {
  const width = Math.min(image.width, Math.max(1, Math.round((image.height * shape.width) / shape.height)));
  const height = Math.min(image.height, Math.max(1, Math.round((image.width * shape.height) / shape.width)));
  return { left: Math.floor((image.width - width) / 2), top: Math.floor((image.height - height) / 2), width, height };
}

/** A PNG with every pixel repeated `scale` times, in base64. */
export async function toPng(image, scale) {
  const small = new OffscreenCanvas(image.width, image.height);
  small.getContext("2d").putImageData(image, 0, 0);
  let canvas = small;
  if (scale > 1) {
    canvas = new OffscreenCanvas(scale * image.width, scale * image.height);
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, canvas.width, canvas.height);
  }
  const blob = await canvas.convertToBlob({ type: "image/png" });
  return new FileReaderSync().readAsDataURL(blob).split(",")[1];
}

/** An image file brought to the model's size. @returns {Promise<{image: ImageData, original: ImageBitmap}>} */
export async function readImage(blob, shape) {
  let original;
  try {
    original = await createImageBitmap(blob);
  } catch {
    throw new Error("This is not an image that this browser can read");
  }
  const { left, top, width, height } = centred(original, shape);
  const fits = width === shape.width && height === shape.height;
  const window = fits ? original : await createImageBitmap(original, left, top, width, height,
    { resizeWidth: shape.width, resizeHeight: shape.height, resizeQuality: "high" });
  const canvas = new OffscreenCanvas(shape.width, shape.height);
  const context = canvas.getContext("2d");
  context.fillStyle = "white"; // behind what is transparent
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(window, fits ? -left : 0, fits ? -top : 0);
  return { image: context.getImageData(0, 0, canvas.width, canvas.height), original };
}
