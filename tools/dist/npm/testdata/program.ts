// Uses every type of the package. Lines after @ts-expect-error must be errors.
import * as node from 'onnxruntime-node';
import * as web from 'onnxruntime-web';
import { openPolicy, PolicyError, type Answer, type Policy, type Prices, type Request } from 'pipe-defer';

declare const process: { argv: string[]; getBuiltinModule(name: string): any };
const cases = JSON.parse(process.getBuiltinModule('node:fs').readFileSync(process.argv[2], 'utf8'));
const found = cases.find(({ name }: { name: string }) => name.startsWith('usage'));

const policy: Policy = await openPolicy(found.policy, { ort: node, session: { executionProviders: ['cpu'] } });
const request: Request = { features: found.request.features, unavailable: { pairs: ['a/b/short'] }, top: 2 };
const answer: Answer = await policy.decide(request);
const first = answer.decisions[0]!;
const cost: number | null = first.ranked?.[1]?.expected_cost ?? first.expected_cost;
const trained: Prices | null = policy.prices;
const fee: number | undefined = policy.prices?.experts['a/b'];
await policy.decide({ features: new Float32Array(5) });
await policy.decide({ features: [1, 2, 3, 4, 5], prices: { lambda: 2, usage: { 'a/b': { tokens_out: 1 } } } });
try {
  await policy.decide({ text: 'x' });
} catch (error) {
  const code: string = (error as PolicyError).code;
  if (!(error instanceof PolicyError) || code !== 'wrong_input') throw error;
}
const step: () => Promise<boolean> = async () => (await policy.next({ features: [0, 0], executed: { 'small/none': { confidence: 0.7, label: null } } })).accept;
await policy.close();
export const inBrowser = () => openPolicy(new URL('https://example.org/p.onnx'), { ort: web });
export const ofBytes = () => openPolicy({ model: new Uint8Array(1), description: '{}' }, { ort: node });

export async function refused() {
  // @ts-expect-error the runtime is missing
  await openPolicy('p.onnx');
  // @ts-expect-error a text is no feature
  await policy.decide({ features: ['x'] });
  // @ts-expect-error a misspelled member
  await policy.decide({ features: [1], price: {} });
  // @ts-expect-error a Map is no plain object
  await policy.decide({ features: [1], prices: { experts: new Map<string, number>() } });
  // @ts-expect-error it may be null
  first.expected_cost.toFixed();
  // @ts-expect-error it cannot be changed
  policy.input = 'text';
}
console.log(`decided ${answer.decisions.length} rows`, cost, fee, trained?.lambda, typeof step);
