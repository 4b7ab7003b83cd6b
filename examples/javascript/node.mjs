// node node.mjs POLICY.onnx ROWS [PRICES.json]
import { readFile } from 'node:fs/promises';
import ort from 'onnxruntime-node';
import { decide, lines, table } from './decide.mjs';

const [policy, rows, prices] = process.argv.slice(2);
const json = async (path) => JSON.parse(await readFile(path, 'utf8'));
const model = new Uint8Array(await readFile(policy));
const about = await json(policy + '.json');
process.stdout.write(table(await decide(ort, model, about, lines(await readFile(rows, 'utf8')), prices ? await json(prices) : {})));
