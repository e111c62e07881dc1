// A file host as plain as they come: it knows .html, .css, .js, .svg and .png, and sends no other headers.
//   node static_server.mjs FOLDER [PORT]
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const TYPES = {
  ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png",
};

/** @returns {Promise<{address: string, close: () => Promise<void>}>} */
export function serveFolder(folder, port = 0) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://host").pathname));
    const file = join(folder, path.endsWith("/") ? path + "index.html" : path);
    try {
      if (!statSync(file).isFile()) throw new Error("not a file");
      response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" });
      createReadStream(file).pipe(response);
    } catch {
      response.writeHead(404).end();
    }
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve({
    address: `http://127.0.0.1:${server.address().port}`,
    close: () => new Promise((done) => {
      server.closeAllConnections();
      server.close(done);
    }),
  })));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log((await serveFolder(process.argv[2], Number(process.argv[3] ?? 0))).address);
}
