// A policy file that decides. The graph makes every decision; here are its inputs, its names and the checks of its answer.
import { Actions } from './actions.js';
import { state, step } from './cascade.js';
import { PolicyError, known } from './error.js';
import { load } from './file.js';
import { changed, inputs, named, trained, unchecked } from './prices.js';
import { featureBlocks, openTokenizer, textBlocks } from './rows.js';

const EXCLUDED = -1e30; // the score of a pair that must not be chosen
const ARRAYS = { float32: (list) => Float32Array.from(list), int64: (list) => BigInt64Array.from(list, BigInt), bool: (list) => Uint8Array.from(list, Number) };

// openPolicy opens a policy file: a path, a URL, or { model, description }. See index.d.ts.
export async function openPolicy(source, options = {}) {
  const ort = options.ort?.InferenceSession ? options.ort : options.ort?.default;
  if (!ort?.InferenceSession) throw new PolicyError('no_runtime', 'openPolicy needs { ort }: the module onnxruntime-node, or onnxruntime-web in a browser');
  const { model, about } = await load(source);
  let session;
  try {
    session = await ort.InferenceSession.create(model, options.session);
  } catch (cause) {
    throw new PolicyError('wrong_policy', `the runtime cannot open the policy file: ${cause.message ?? cause}`, { cause });
  }
  try {
    return new Policy(ort, session, about, about.encoder ? await openTokenizer(about) : null);
  } catch (cause) {
    await session.release();
    throw cause;
  }
}

class Policy {
  #ort;
  #session;
  #tokenizer;
  #actions;
  #last = Promise.resolve();
  #closed;

  constructor(ort, session, about, tokenizer) {
    this.#ort = ort;
    this.#session = session;
    this.#tokenizer = tokenizer;
    this.#actions = new Actions(about);
    this.description = about;
    this.kind = about.kind;
    this.input = tokenizer ? 'text' : 'features';
    this.experts = [...this.#actions.experts];
    this.advice = [...this.#actions.advice];
    this.pairs = this.#actions.pairs.filter((_, pair) => this.#actions.exists[pair]);
    this.prices = about.prices ? named(about, this.#actions) : null;
  }

  // decide decides on rows of features or on texts.
  async decide(request) {
    if (this.kind === 'cascade') throw new PolicyError('wrong_input', 'the file is a cascade, which looks at answers before it decides again: call next');
    known('wrong_input', 'a request', request, ['features', 'text', 'texts', 'prices', 'unavailable', 'top']);
    const { top = 0 } = request;
    if (!Number.isInteger(top) || top < 0) throw new PolicyError('wrong_input', 'top must be a whole number from 0: how many pairs are ranked');
    const { available, lists, prices } = this.#priced(request);
    const blocks = this.#blocks(request);
    return this.#queued(async () => {
      const decisions = [];
      for (const block of blocks) {
        const out = await this.#session.run(this.#tensors({ ...block.values, ...lists }, block.rows));
        for (let row = 0; row < block.rows; row++) decisions.push(this.#decision(out, row, decisions.length, available, top));
      }
      return { prices, decisions };
    });
  }

  // next is the next step of a cascade on one row.
  async next(request) {
    if (this.kind !== 'cascade') throw new PolicyError('wrong_input', 'the policy decides once: call decide');
    known('wrong_input', 'a request', request, ['features', 'executed', 'prices', 'unavailable']);
    const { available, lists, prices } = this.#priced(request);
    const [block, more] = [...this.#blocks(request)];
    if (more || block.rows !== 1) throw new PolicyError('wrong_input', 'a step of a cascade takes one row');
    const now = state(this.description, this.#actions, request.executed);
    const out = await this.#queued(() => this.#session.run(this.#tensors({ ...block.values, ...now, ...lists }, 1)));
    const { index, accept, ...expected } = step(out, this.#actions, now.executed, available);
    return { prices, accept, ...this.#names(index), ...expected, ...(accept && this.#accepted(out, 0, true)) };
  }

  // close frees the session after what was asked before. Later calls fail.
  async close() {
    this.#closed ??= this.#last.then(() => this.#session.release());
    await this.#closed;
  }

  // priced are the prices of a request: lists for the graph, and what the answer says of them.
  #priced(request) {
    const { description: about } = this;
    const available = this.#actions.without(request.unavailable);
    let at = trained(about, this.#actions);
    if (request.prices !== undefined) {
      if (!about.prices) throw new PolicyError('wrong_prices', 'the policy has fixed prices: train it with --any-price to give prices');
      at = changed(at, this.#actions, request.prices);
    }
    const prices = { lambda: at.lambda, unchecked: about.prices ? unchecked(about, this.#actions, at, available) : [] };
    return { available, lists: about.prices ? inputs(at, available) : {}, prices };
  }

  #blocks({ features, text, texts }) {
    const given = Object.entries({ features, text, texts }).filter(([, value]) => value !== undefined).map(([name]) => name);
    const wanted = this.input === 'text' ? ['text', 'texts'] : ['features'];
    if (given.length !== 1 || !wanted.includes(given[0])) {
      throw new PolicyError('wrong_input', `the policy takes ${wanted.join(' or ')}, not ${given.join(' and ') || 'nothing'}`);
    }
    if (this.input === 'features') return featureBlocks(this.description, features);
    return textBlocks(this.description, this.#tokenizer, texts ?? [text]);
  }

  // tensors makes the inputs of the graph. Prices have one row for all rows of the block.
  #tensors(lists, rows) {
    const feeds = {};
    for (const { name, type } of this.description.inputs) {
      const data = lists[name] instanceof Float32Array ? lists[name] : ARRAYS[type](lists[name]);
      feeds[name] = new this.#ort.Tensor(type, data, name === 'features' ? [rows, data.length / rows] : [1, data.length]);
    }
    return feeds;
  }

  // queued does a task after earlier ones: the browser's runtime refuses a second run at the same time.
  #queued(task) {
    if (this.#closed) throw new PolicyError('closed', 'the policy is closed');
    const done = this.#last.then(task);
    this.#last = done.catch(() => {});
    return done;
  }

  // decision checks the answer of a row, and names what was chosen.
  #decision(out, row, number, available, top) {
    const { pairs, advice } = this.#actions;
    const scores = out.scores.data.subarray(row * pairs.length, (row + 1) * pairs.length);
    const fail = (why) => new PolicyError('no_decision', `row ${number}: ${why}`, { row: number });
    let best = 0;
    let chosen = -1;
    for (let pair = 0; pair < scores.length; pair++) {
      const score = scores[pair];
      if (!Number.isFinite(score)) throw fail(`the score of ${pairs[pair]} is ${score}: features or prices are out of range, or the policy does not know what the pair uses and this has a price`);
      if (score > scores[best]) best = pair;
      if (available[pair] && score > EXCLUDED && (chosen < 0 || score > scores[chosen])) chosen = pair;
    }
    const graph = Number(out.action.data[row]);
    if (graph !== best || Number(out.expert.data[row]) !== Math.floor(best / advice.length) || Number(out.advice.data[row]) !== best % advice.length) {
      throw fail(`the policy answers pair ${graph}, which contradicts its own scores: a damaged file`);
    }
    if (chosen < 0) throw fail('features or prices are out of range, or no pair remains that the policy may choose');
    const decision = this.#pair(out, row, chosen, scores);
    if (out.accepted) Object.assign(decision, this.#accepted(out, row, chosen === graph));
    if (top > 0) decision.ranked = this.#ranked(available, scores).slice(0, top).map((pair) => this.#pair(out, row, pair, scores));
    return decision;
  }

  // ranked are the pairs that may be chosen, best first; of equal scores the smallest index is first.
  #ranked(available, scores) {
    const may = this.#actions.pairs.map((_, pair) => pair).filter((pair) => available[pair] && scores[pair] > EXCLUDED);
    return may.sort((a, b) => scores[b] - scores[a]);
  }

  // accepted says whether the guarantee is about a decision, if there is one. It is about none that the graph did not make.
  #accepted(out, row, own) {
    if (!out.accepted) return {};
    if (own && out.accepted.data[row]) return { accepted: true };
    return { accepted: false, instead: this.description.guarantee.instead.name };
  }

  #names(index) {
    const { experts, advice, pairs } = this.#actions;
    return { index, pair: pairs[index], expert: experts[Math.floor(index / advice.length)], advice: advice[index % advice.length] };
  }

  #pair(out, row, index, scores) {
    const at = row * scores.length + index;
    const pair = this.#names(index);
    pair.score = scores[index];
    pair.expected_loss = out.expected_loss?.data[at] ?? null;
    pair.expected_cost = out.expected_cost?.data[at] ?? null;
    return pair;
  }
}
