// Runs ONNX files in onnxruntime, for tests that compare with LibTorch.
//   node run_onnx.mjs RUNTIME FOLDER
// FOLDER/inputs.safetensors has tensors called FILE/INPUT. Of every FILE.onnx the outputs are written to
// FOLDER/FILE/OUTPUT.bin, and their shapes to FOLDER/outputs.json.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [runtime, folder] = process.argv.slice(2);
const ort = createRequire(join(runtime, "package.json"))("onnxruntime-node");
const KINDS = { F32: ["float32", Float32Array], I64: ["int64", BigInt64Array] };

const bytes = readFileSync(join(folder, "inputs.safetensors"));
const first = 8 + Number(bytes.readBigUInt64LE(0));
const header = JSON.parse(bytes.toString("utf8", 8, first));

const inputs = {};
delete header.__metadata__;
for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(header)) {
  const [file, input] = name.split("/");
  const [type, Numbers] = KINDS[dtype];
  const data = new Numbers(Uint8Array.from(bytes.subarray(first + begin, first + end)).buffer);
  (inputs[file] ??= {})[input] = new ort.Tensor(type, data, shape);
}

const shapes = {};
for (const [file, feeds] of Object.entries(inputs)) {
  const session = await ort.InferenceSession.create(join(folder, `${file}.onnx`), { intraOpNumThreads: 1 });
  mkdirSync(join(folder, file), { recursive: true });
  for (const [name, { type, dims, data }] of Object.entries(await session.run(feeds))) {
    shapes[`${file}/${name}`] = { type, shape: dims };
    writeFileSync(join(folder, file, `${name}.bin`), new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
}
writeFileSync(join(folder, "outputs.json"), JSON.stringify(shapes));
