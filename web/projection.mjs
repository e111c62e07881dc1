// Points of many dimensions in two, and in one: principal components, t-SNE (van der Maaten and Hinton, 2008; exact, for the few
// hundred points of a map), and an order in which neighbours are alike. Pure functions of arrays.

/** Squared distances of all pairs, row by row. @param {Float32Array[]} points */
export function squaredDistances(points) {
  const count = points.length;
  const distances = new Float64Array(count * count);
  for (let one = 0; one < count; ++one) {
    for (let other = one + 1; other < count; ++other) {
      let sum = 0;
      for (let place = 0; place < points[one].length; ++place) sum += (points[one][place] - points[other][place]) ** 2;
      distances[one * count + other] = distances[other * count + one] = sum;
    }
  }
  return distances;
}

/** The two principal components of points, from the squared distances of all pairs. @returns {[number, number][]} */
export function principal(distances, count) {
  const means = Array.from({ length: count }, (_, row) => distances.subarray(row * count, (row + 1) * count).reduce((sum, each) => sum + each, 0) / count);
  const all = means.reduce((sum, each) => sum + each, 0) / count;
  const gram = distances.map((each, place) => -(each - means[Math.floor(place / count)] - means[place % count] + all) / 2);
  const axes = [];
  for (let axis = 0; axis < 2; ++axis) {
    let vector = Float64Array.from({ length: count }, (_, row) => Math.sin(1 + row * (axis + 1)));
    let length = 0;
    for (let turn = 0; turn < 60; ++turn) { // power iteration
      for (const known of axes) {
        const along = known.vector.reduce((sum, each, row) => sum + each * vector[row], 0);
        vector = vector.map((each, row) => each - along * known.vector[row]);
      }
      const next = Float64Array.from({ length: count }, (_, row) => {
        let sum = 0;
        for (let column = 0; column < count; ++column) sum += gram[row * count + column] * vector[column];
        return sum;
      });
      length = Math.hypot(...next) || 1;
      vector = next.map((each) => each / length);
    }
    axes.push({ vector, scale: Math.sqrt(Math.max(length, 0)) });
  }
  return Array.from({ length: count }, (_, row) => axes.map(({ vector, scale }) => scale * vector[row]));
}

/** Row by row, the Gaussian neighbourhood whose perplexity is as wanted; then made symmetric. */
function neighbourhoods(distances, count, perplexity) {
  const chances = new Float64Array(count * count);
  const target = Math.log(Math.min(perplexity, (count - 1) / 3));
  for (let row = 0; row < count; ++row) {
    let [low, high, precision] = [0, Infinity, 1];
    const nearest = Math.min(...Array.from({ length: count }, (_, column) => (column === row ? Infinity : distances[row * count + column])));
    for (let turn = 0; turn < 60; ++turn) {
      let [sum, weighted] = [0, 0];
      for (let column = 0; column < count; ++column) {
        if (column === row) continue;
        const distance = distances[row * count + column] - nearest;
        const chance = Math.exp(-precision * distance);
        chances[row * count + column] = chance;
        sum += chance;
        weighted += chance * distance;
      }
      for (let column = 0; column < count; ++column) chances[row * count + column] /= sum;
      const entropy = Math.log(sum) + (precision * weighted) / sum;
      if (Math.abs(entropy - target) < 1e-4) break;
      if (entropy > target) low = precision;
      else high = precision;
      precision = high === Infinity ? 2 * precision : (low + high) / 2;
    }
  }
  return chances.map((chance, place) => (chance + chances[(place % count) * count + Math.floor(place / count)]) / (2 * count));
}

/** t-SNE by gradient descent from the principal components. @returns {[number, number][]} */
export function tsne(distances, count, { perplexity = 20, steps = 300 } = {}) {
  const wanted = neighbourhoods(distances, count, perplexity);
  const start = principal(distances, count);
  const size = Math.max(...start.flat().map(Math.abs)) || 1;
  const places = Float64Array.from(start.flat(), (each) => (1e-2 * each) / size);
  const speed = new Float64Array(2 * count);
  const kernel = new Float64Array(count * count);
  const rate = Math.max(10, count / 6);
  for (let step = 0; step < steps; ++step) {
    const exaggeration = step < 80 ? 8 : 1;
    let total = 0;
    for (let one = 0; one < count; ++one) {
      for (let other = one + 1; other < count; ++other) {
        const near = 1 / (1 + (places[2 * one] - places[2 * other]) ** 2 + (places[2 * one + 1] - places[2 * other + 1]) ** 2);
        kernel[one * count + other] = kernel[other * count + one] = near;
        total += 2 * near;
      }
    }
    const gradient = new Float64Array(2 * count);
    for (let one = 0; one < count; ++one) {
      for (let other = 0; other < count; ++other) {
        if (one === other) continue;
        const near = kernel[one * count + other];
        const pull = 4 * (exaggeration * wanted[one * count + other] - near / total) * near;
        gradient[2 * one] += pull * (places[2 * one] - places[2 * other]);
        gradient[2 * one + 1] += pull * (places[2 * one + 1] - places[2 * other + 1]);
      }
    }
    const momentum = step < 80 ? 0.5 : 0.8;
    for (let place = 0; place < 2 * count; ++place) {
      speed[place] = momentum * speed[place] - rate * gradient[place];
      places[place] += speed[place];
    }
  }
  return Array.from({ length: count }, (_, row) => [places[2 * row], places[2 * row + 1]]);
}

/** An order in which each point is followed by the nearest that is left, from the first point on. */
export function similarityOrder(distances, count) {
  const left = new Set(Array.from({ length: count }, (_, row) => row));
  const order = [];
  for (let row = 0; left.size > 0;) {
    order.push(row);
    left.delete(row);
    let best = -1;
    for (const other of left) if (best < 0 || distances[row * count + other] < distances[row * count + best]) best = other;
    row = best;
  }
  return order;
}
