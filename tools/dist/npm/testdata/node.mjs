// node node.mjs CASES.json
import { readFile } from 'node:fs/promises';
import ort from 'onnxruntime-node';
import { answers } from './cases.mjs';

const cases = JSON.parse(await readFile(process.argv[2], 'utf8'));
console.log(JSON.stringify(await answers(ort, cases, (file) => file)));
