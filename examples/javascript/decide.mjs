// Decides with a policy file, in node and in the browser, by the package of clients/node. See examples/README.md.
import { openPolicy } from 'pipe-defer';

const USAGE = { price_in: 'tokens_in', price_cached: 'tokens_cached', price_out: 'tokens_out', price_call: 'calls', price_second: 'seconds' };

// named makes prices by name of the lists that the examples of all languages take.
function named(policy, { expert_fees = [], advice_fees = [], pair_fees = [], available = [], ...usage }) {
  const pairs = policy.experts.flatMap((expert) => policy.advice.map((advice) => `${expert}/${advice}`));
  const by = (names, list) => Object.fromEntries(list.map((value, n) => [names[n], value]));
  const used = (n) => Object.fromEntries(Object.entries(usage).map(([name, list]) => [USAGE[name] ?? name, list[n]]));
  const prices = {
    experts: by(policy.experts, expert_fees),
    advice: by(policy.advice.slice(1), advice_fees.slice(1)),
    pairs: by(pairs, pair_fees),
    usage: Object.keys(usage).length ? Object.fromEntries(policy.experts.map((name, n) => [name, used(n)])) : {},
  };
  if (advice_fees.length) prices.lambda = 1; // it is in the list already
  return { prices, unavailable: { pairs: pairs.filter((_, n) => available[n] === false) } };
}

// decide returns a table of the decisions on the lines of a text. ort is the onnxruntime of the platform.
export async function decide(ort, file, text, lists = {}) {
  const policy = await openPolicy(file, { ort });
  const lines = text.split(/\r?\n/).filter((line, n, all) => n < all.length - 1 || line !== '');
  const numbers = (line) => line.split(',').map((cell) => (cell.trim() ? Number(cell) : NaN));
  const rows = policy.input === 'text' ? { texts: lines } : { features: lines.map(numbers) };
  const { decisions } = await policy.decide({ ...rows, ...(Object.keys(lists).length > 0 && named(policy, lists)) });
  await policy.close();
  return decisions.map((d) => `${d.expert}\t${d.advice}\t${d.expected_cost ?? ''}\n`).join('');
}
