// Runs a policy file in a JavaScript runtime and writes its decisions as raw numbers.
//
// usage: node judge.mjs node|web MODULES POLICY FEATURES.f32 WIDTH BATCH OUT
//
// FEATURES.f32 holds rows x WIDTH little-endian float32. OUT gets, per row, action, expert and
// advice as int32, then all scores (rows x actions) as float32. "web" is the WebAssembly build
// that browsers load, on one thread.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [runtime, modules, policy, features, width, batch, out] = process.argv.slice(2);

async function load() {
  if (runtime === 'node') {
    return (await import(pathToFileURL(path.join(modules, 'onnxruntime-node/dist/index.js')))).default;
  }
  const dist = path.join(modules, 'onnxruntime-web/dist');
  const ort = await import(pathToFileURL(path.join(dist, 'ort.wasm.bundle.min.mjs')));
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = pathToFileURL(dist + path.sep).href;
  return ort;
}

async function main() {
  const ort = await load();
  const provider = runtime === 'node' ? 'cpu' : 'wasm';
  const session = await ort.InferenceSession.create(new Uint8Array(await readFile(policy)), {
    executionProviders: [provider],
  });
  const raw = await readFile(features);
  const values = new Float32Array(raw.buffer, raw.byteOffset, raw.byteLength / 4);
  const dim = Number(width), rows = values.length / dim;
  const decisions = new Int32Array(rows * 3);
  const scores = [];
  for (let start = 0; start < rows; start += Number(batch)) {
    const end = Math.min(rows, start + Number(batch));
    const input = new ort.Tensor('float32', values.slice(start * dim, end * dim), [end - start, dim]);
    const result = await session.run({ features: input });
    ['action', 'expert', 'advice'].forEach((name, column) => {
      result[name].data.forEach((value, n) => { decisions[(start + n) * 3 + column] = Number(value); });
    });
    scores.push(Buffer.from(Float32Array.from(result.scores.data).buffer));
  }
  await writeFile(out, Buffer.concat([Buffer.from(decisions.buffer), ...scores]));
  console.log(JSON.stringify({ version: ort.env.versions[runtime] ?? ort.env.versions.common }));
}

await main();
