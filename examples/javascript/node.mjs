// node node.mjs POLICY.onnx ROWS [PRICES.json]
import { readFile } from 'node:fs/promises';
import ort from 'onnxruntime-node';
import { decide } from './decide.mjs';

const [policy, rows, prices] = process.argv.slice(2);
const lists = prices ? JSON.parse(await readFile(prices, 'utf8')) : {};
process.stdout.write(await decide(ort, policy, await readFile(rows, 'utf8'), lists));
