// node errors.mjs LIST.json prints the code and the message of the error of every entry {policy: FILE, request: EXPRESSION}, where an
// expression after "next" is for a cascade.
import { readFile } from 'node:fs/promises';
import ort from 'onnxruntime-node';
import { PolicyError, openPolicy } from 'pipe-defer';

async function said({ policy: file, request }) {
  try {
    const policy = await openPolicy(file, request === 'no runtime' ? {} : { ort });
    if (request === 'closed') await policy.close();
    const method = request.startsWith('next') ? 'next' : 'decide';
    const value = request === 'closed' ? '{features: [0, 0, 0, 0, 0]}' : request.replace('next', '') || '{}';
    const answer = await policy[method](new Function(`return (${value})`)());
    return `decided: ${JSON.stringify(answer)}`;
  } catch (error) {
    return error instanceof PolicyError ? `${error.code}: ${error.message}` : `crashed: ${error.stack}`;
  }
}

const all = [];
for (const entry of JSON.parse(await readFile(process.argv[2], 'utf8'))) all.push(await said(entry));
console.log(JSON.stringify(all));
