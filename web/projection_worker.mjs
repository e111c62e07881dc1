// Computes a map beside the page, which goes on answering: t-SNE of a thousand points takes seconds.

import { principal, squaredDistances, tsne } from "./projection.mjs";

addEventListener("message", ({ data: { id, points, kind } }) => {
  const distances = squaredDistances(points);
  postMessage({ id, places: (kind === "tsne" ? tsne : principal)(distances, points.length) });
});
