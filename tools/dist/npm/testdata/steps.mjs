// node steps.mjs LIST.json prints the next step of every entry {policy, request}.
import { readFile } from 'node:fs/promises';
import ort from 'onnxruntime-node';
import { openPolicy } from 'pipe-defer';

const opened = new Map();
const all = [];
for (const { policy: file, request } of JSON.parse(await readFile(process.argv[2], 'utf8'))) {
  if (!opened.has(file)) opened.set(file, await openPolicy({ model: await readFile(file), description: await readFile(`${file}.json`, 'utf8') }, { ort }));
  all.push(await opened.get(file).next(request));
}
console.log(JSON.stringify(all));
