// node calls.mjs FEATURES.onnx TEXT.onnx fails if a call depends on what happens after it, or if opening and closing leave something behind.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import ort from 'onnxruntime-node';
import { openPolicy } from 'pipe-defer';

const [file, textFile] = process.argv.slice(2);
const MANY = 3000; // more than the graph sees at once

// What a caller changes after a call does not change the answer.
async function changed(policy, request, change) {
  const want = await policy.decide(request);
  const asked = policy.decide(request);
  change(request);
  assert.deepEqual(await asked, want);
  assert.notDeepEqual(await policy.decide(request), want);
}

const policy = await openPolicy(file, { ort });
const rows = Float32Array.from({ length: MANY * policy.description.dim }, (_, n) => Math.sin(n));
await changed(policy, { features: rows.slice() }, ({ features }) => features.fill(3));
await changed(policy, { features: rows, prices: { lambda: 0 }, top: 1 }, (request) => Object.assign(request, { top: 2 }));
await changed(policy, { features: rows, prices: { experts: { 'a/b': 0 } } }, ({ prices }) => Object.assign(prices.experts, { 'a/b': 9 }));

const reader = await openPolicy(textFile, { ort });
await changed(reader, { texts: ['one', 'two', 'three'] }, ({ texts }) => texts.fill('four', 1));

// Closing waits for what was asked before, refuses what is asked later, and may be repeated.
const want = await policy.decide({ features: rows });
const asked = [policy.decide({ features: rows }), policy.decide({ features: rows })];
const closed = [policy.close(), policy.close()];
await assert.rejects(policy.decide({ features: rows }), { code: 'closed' });
for (const answer of await Promise.all(asked)) assert.deepEqual(answer, want);
await Promise.all(closed);
await reader.close();

// A session is released also if the tokenizer cannot be opened, and once where the policy is closed.
let [made, released] = [0, 0];
const counting = {
  Tensor: ort.Tensor,
  InferenceSession: {
    async create(...args) {
      const session = await ort.InferenceSession.create(...args);
      made++;
      return { run: (feeds) => session.run(feeds), release: () => session.release().then(() => released++) };
    },
  },
};
const description = { ...reader.description, tokenizer: {} };
await assert.rejects(openPolicy({ model: await readFile(textFile), description }, { ort: counting }));
assert.deepEqual([made, released], [1, 1]);
const counted = await openPolicy(file, { ort: counting });
await Promise.all([counted.close(), counted.close()]);
assert.deepEqual([made, released], [2, 2]);

// A file has a URL too, as an object and as a text.
const url = pathToFileURL(file);
for (const source of [url, url.href, url.href.replace('file:', 'FILE:')]) {
  const opened = await openPolicy(source, { ort });
  assert.deepEqual(await opened.decide({ features: rows }), want);
  await opened.close();
}
console.log('all calls are right');
