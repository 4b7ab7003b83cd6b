// Prices of an any-price policy: those of its training, and what a caller changes.
import { PolicyError, known, shown } from './error.js';

const CODE = 'wrong_prices';
const LARGEST = 1e12;
// How far a computed factor on a price may be beyond a range. The description has prices of usage as float32.
const ROUNDING = 1e-9;
const SINGLE = 1e-6;
// What calls use, with the names of the inputs for their prices.
const QUANTITIES = { tokens_in: 'price_in', tokens_cached: 'price_cached', tokens_out: 'price_out', calls: 'price_call', seconds: 'price_second' };

// trained are the prices of the training. Lists are in the order of the names; fees of advice are before lambda.
export function trained(about, actions) {
  const inputs = about.prices?.inputs ?? {};
  const usage = Object.entries(QUANTITIES).filter(([, input]) => input in inputs).map(([name, input]) => [name, inputs[input]]);
  return {
    lambda: about.lambda,
    experts: about.experts.map(({ fee }) => fee),
    advice: about.advice.map(({ fee }) => fee),
    pairs: actions.pairs.map(() => 0),
    usage: Object.fromEntries(usage),
  };
}

// named are the prices of the training by name, as a request has them.
export function named(about, actions) {
  const { lambda, experts, advice, usage } = trained(about, actions);
  const by = (names, value) => Object.fromEntries(names.map((name, n) => [name, value(n)]));
  const used = (expert) => by(Object.keys(usage), (n) => Object.values(usage)[n][expert]);
  return {
    lambda,
    experts: by(actions.experts, (n) => experts[n]),
    advice: by(actions.advice, (n) => advice[n]),
    usage: Object.keys(usage).length ? by(actions.experts, used) : {},
  };
}

// changed are prices of the training with what a request changes.
export function changed(before, actions, request) {
  known(CODE, 'prices', request, ['lambda', 'experts', 'advice', 'pairs', 'usage']);
  const at = { ...before, experts: [...before.experts], advice: [...before.advice], pairs: [...before.pairs], usage: { ...before.usage } };
  if (request.lambda !== undefined) at.lambda = amount('lambda', request.lambda);
  const kinds = { experts: 'expert', advice: 'advice', pairs: 'pair' };
  for (const [list, kind] of Object.entries(kinds)) {
    for (const [name, fee] of entries(list, request[list])) {
      const place = actions.index(CODE, kind, actions[list], name);
      if (list === 'advice' && place === 0) throw new PolicyError(CODE, `${JSON.stringify(name)} is the absence of advice, which is free`);
      at[list][place] = amount(`the fee of ${kind} ${JSON.stringify(name)}`, fee);
    }
  }
  for (const [name, prices] of entries('usage', request.usage)) {
    setUsage(at, actions.index(CODE, 'expert', actions.experts, name), name, prices);
  }
  return at;
}

// entries are what a request has by name, in a member of its prices that may be left out.
function entries(member, list = {}) {
  known(CODE, `${member} of prices`, list, Object.keys(list ?? {}));
  return Object.entries(list);
}

function setUsage(at, expert, name, prices) {
  const of = `the prices of what expert ${JSON.stringify(name)} uses`;
  const quantities = Object.keys(at.usage);
  if (quantities.length === 0 && Object.keys(prices ?? {}).length > 0) {
    throw new PolicyError(CODE, 'the policy does not know what calls use, so it takes no prices of usage: give fees, or train it on a table that has the usage');
  }
  known(CODE, of, prices, quantities);
  if ('tokens_cached' in at.usage && 'tokens_in' in prices && !('tokens_cached' in prices)) {
    throw new PolicyError(CODE, `${of} have tokens_in without tokens_cached. Where it is not known how many tokens are cached, give both the same price`);
  }
  for (const [quantity, price] of Object.entries(prices)) {
    at.usage[quantity] = at.usage[quantity].with(expert, amount(`the price of ${quantity} of expert ${JSON.stringify(name)}`, price));
  }
}

function amount(what, value) {
  if (!(typeof value === 'number' && value >= 0 && value <= LARGEST)) throw new PolicyError(CODE, `${what} is ${shown(value)}, not a number from 0 to ${LARGEST}`);
  return value;
}

// inputs are the lists that the graph takes, by the names of its inputs.
export function inputs(at, available) {
  const usage = Object.entries(at.usage).map(([name, prices]) => [QUANTITIES[name], prices]);
  return {
    expert_fees: at.experts,
    advice_fees: at.advice.map((fee) => at.lambda * fee),
    pair_fees: at.pairs,
    available,
    ...Object.fromEntries(usage),
  };
}

// unchecked says why the policy was not compared with the best fixed pair at these prices, as pipe decide says it.
export function unchecked(about, actions, at, available) {
  const before = trained(about, actions);
  const { lambda: lambdas, fee: factors } = about.prices;
  const [fees, usage] = [changedFees(actions, before, at), changedUsage(actions, before, at)];
  const together = usage.length > 0 && usage.length === pricedExperts(before) && usage.every(({ factor }) => Math.abs(factor - usage[0].factor) <= SINGLE * usage[0].factor);
  const number = fees.length + (together ? 1 : usage.length);
  const why = [];
  if (at.lambda < lambdas[0] || at.lambda > lambdas[1]) why.push(`lambda ${at.lambda} is not from ${lambdas[0]} to ${lambdas[1]}`);
  if (number > 1) why.push(`${number} fees and prices differ from those of the training, and only one at a time was changed`);
  else if (number === 1 && at.lambda !== before.lambda) why.push('lambda and a fee differ from those of the training, and only one at a time was changed');
  for (const { expert, factor } of usage) {
    const name = JSON.stringify(actions.experts[expert]);
    if (before.experts[expert] > 0 && !together) why.push(`the prices of what expert ${name} uses changed without its fee, and both were changed by one factor`);
    if (!within(factor, factors, SINGLE)) {
      why.push(`the prices of what expert ${name} uses are not all the same number, from ${factors[0]} to ${factors[1]}, times those of the training`);
    }
  }
  for (const { kind, name, fee, old } of fees) {
    const range = factors.map((factor) => factor * old);
    if (!within(fee, range, ROUNDING)) why.push(`the fee ${fee} of ${kind} ${JSON.stringify(name)} is not from ${range[0]} to ${range[1]}`);
  }
  const extra = at.pairs.some((fee) => fee > 0);
  const left = available.some((may, pair) => may !== actions.exists[pair]);
  if (extra) why.push('some pairs have extra fees');
  if (left) why.push('pairs are left out');
  const promise = about.guarantee;
  if (promise && !promise.law && (number > 0 || extra || left || !promise.at.some(({ lambda }) => lambda === at.lambda))) {
    why.push(`the guarantee of a risk of at most ${promise.risk} is for other prices`);
  }
  return why;
}

const within = (value, [low, high], rounding) => value >= low * (1 - rounding) && value <= high * (1 + rounding);

function changedFees(actions, before, at) {
  return ['expert', 'advice'].flatMap((kind) => {
    const list = kind === 'expert' ? 'experts' : 'advice';
    const all = at[list].map((fee, n) => ({ kind, name: actions[list][n], fee, old: before[list][n] }));
    return all.filter(({ fee, old }) => fee !== old);
  });
}

const pricedExperts = (before) => before.experts.filter((_, expert) => Object.values(before.usage).some((prices) => prices[expert] > 0)).length;

// changedUsage are the experts whose prices of usage changed, each with the factor; NaN if there is no single one.
function changedUsage(actions, before, at) {
  return actions.experts.flatMap((_, expert) => {
    const pairs = Object.entries(at.usage).map(([name, prices]) => [before.usage[name][expert], Math.fround(prices[expert])]);
    if (pairs.every(([old, now]) => Math.fround(old) === now)) return [];
    const own = pairs.filter(([old, now]) => old !== 0 || now !== 0).map(([old, now]) => now / old);
    const same = own.every((factor) => Math.abs(factor - own[0]) <= SINGLE * Math.abs(own[0]));
    return [{ expert, factor: same ? own[0] : NaN }];
  });
}
