// The next step of a cascade: what was executed and seen goes in, a pair to execute or an answer to accept comes out.
import { PolicyError, known, shown } from './error.js';

const CODE = 'wrong_input';
const NONE = 1e29; // above that, there is no such step

// state are the inputs of the graph for executed pairs with the facts of their answers.
export function state(about, actions, executed = {}) {
  known(CODE, 'executed', executed, Object.keys(executed ?? {}));
  const { facts } = about;
  const observed = new Float32Array(actions.pairs.length * facts.length).fill(NaN);
  const done = actions.pairs.map(() => false);
  for (const [name, seen] of Object.entries(executed)) {
    const pair = actions.index(CODE, 'pair', actions.pairs, name);
    const of = JSON.stringify(name);
    if (!actions.exists[pair]) throw new PolicyError(CODE, `pair ${of} was executed, but does not exist`);
    known(CODE, `what was seen of pair ${of}`, seen, facts.map((fact) => fact.name));
    done[pair] = true;
    facts.forEach((fact, n) => {
      observed[pair * facts.length + n] = value(of, fact, seen[fact.name] ?? null);
    });
  }
  return { observed, executed: done };
}

// value is NaN where a fact is not known, as a text that the training did not see.
function value(pair, { name, values }, seen) {
  if (seen === null) return NaN;
  if (typeof seen !== (values ? 'string' : 'number')) {
    throw new PolicyError(CODE, `${name} of pair ${pair} is ${shown(seen)}, not a ${values ? 'text' : 'number'}`);
  }
  if (!values) return seen;
  const at = values.indexOf(seen);
  return at < 0 ? NaN : at;
}

// step checks the answer of the graph. Where its pair cannot be taken, it is the cheapest that can.
export function step(out, actions, executed, available) {
  const costs = out.expected_cost.data;
  const graph = Number(out.action.data[0]);
  const atHand = executed.includes(true);
  const loss = out.expected_loss.data[0];
  const contradiction = !actions.exists[graph] || Boolean(out.accept.data[0]) !== executed[graph] || !(costs[graph] <= NONE) || Number.isFinite(loss) !== atHand;
  if (contradiction) throw new PolicyError('no_decision', `the cascade answers pair ${graph}, which contradicts its state: features or prices are out of range, or a damaged file`);
  const can = actions.pairs.map((_, pair) => pair).filter((pair) => costs[pair] <= NONE && (executed[pair] || available[pair]));
  if (can.length === 0) throw new PolicyError('no_decision', 'features or prices are out of range, or no pair remains that may be executed');
  const index = can.includes(graph) ? graph : can.reduce((best, pair) => (costs[pair] < costs[best] ? pair : best));
  const accept = executed[index];
  const best = index !== graph && accept ? costs[index] : loss;
  return { index, accept, expected_loss: atHand ? best : null, expected_cost: costs[index] };
}
