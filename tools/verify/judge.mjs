// Runs a policy file in a JavaScript runtime and writes its decisions as raw numbers.
//
// usage: node judge.mjs node|web MODULES POLICY BATCH OUT (NAME float32|int64|uint8|bool SHAPE FILE)...
//
// Every input of the policy is named with its type, the shape of a row, such as 384 or 224x224x3,
// and a file of little-endian numbers, row after row. OUT gets, per row, action, expert and advice as int32, then the scores, and
// every output whose name begins with expected_ (rows x actions each), as float32. "web" is the WebAssembly build that browsers load, on one thread.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [runtime, modules, policy, batch, out, ...described] = process.argv.slice(2);
const numbers = { float32: Float32Array, int64: BigInt64Array, uint8: Uint8Array, bool: Uint8Array };

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

// The inputs that are described on the command line, each with all its rows.
async function readInputs() {
  const inputs = [];
  for (let i = 0; i < described.length; i += 4) {
    const [name, type, dims, file] = described.slice(i, i + 4);
    const shape = dims.split('x').map(Number);
    const width = shape.reduce((a, b) => a * b, 1);
    const raw = await readFile(file);
    const bytes = raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength);
    inputs.push({ name, type, shape, width, values: new numbers[type](bytes) });
  }
  return inputs;
}

async function main() {
  const ort = await load();
  const provider = runtime === 'node' ? 'cpu' : 'wasm';
  const session = await ort.InferenceSession.create(new Uint8Array(await readFile(policy)), {
    executionProviders: [provider],
  });
  const inputs = await readInputs();
  const rows = inputs[0].values.length / inputs[0].width;
  const decisions = new Int32Array(rows * 3);
  const outputs = ['scores', ...session.outputNames.filter((name) => name.startsWith('expected_'))];
  const values = outputs.map(() => []);
  for (let start = 0; start < rows; start += Number(batch)) {
    const end = Math.min(rows, start + Number(batch));
    const feeds = {};
    for (const { name, type, shape, width, values } of inputs) {
      feeds[name] = new ort.Tensor(type, values.slice(start * width, end * width), [end - start, ...shape]);
    }
    const result = await session.run(feeds);
    ['action', 'expert', 'advice'].forEach((name, column) => {
      result[name].data.forEach((value, n) => { decisions[(start + n) * 3 + column] = Number(value); });
    });
    outputs.forEach((name, i) => values[i].push(Buffer.from(Float32Array.from(result[name].data).buffer)));
  }
  await writeFile(out, Buffer.concat([Buffer.from(decisions.buffer), ...values.flat()]));
  console.log(JSON.stringify({ outputs: outputs.length, version: ort.env.versions[runtime] ?? ort.env.versions.common }));
}

await main();
