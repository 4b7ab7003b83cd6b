// Decides all cases of a test: in node and in the browser.
import { openPolicy } from 'pipe-defer';

export async function answers(ort, cases, at) {
  const all = [];
  for (const { policy: file, request } of cases) {
    const policy = await openPolicy(at(file), { ort });
    const names = { experts: policy.experts, advice: policy.advice, pairs: policy.pairs };
    // At once: the policy runs them one after the other.
    const [answer, again] = await Promise.all([policy.decide(request), policy.decide(request)]);
    await policy.close();
    all.push({ answer, names, same: JSON.stringify(answer) === JSON.stringify(again) });
  }
  return all;
}
