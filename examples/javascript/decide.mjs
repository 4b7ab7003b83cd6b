// Decides with a policy file, in node and in the browser. See examples/README.md.
import { Tokenizer } from '@huggingface/tokenizers';

// tensors makes inputs of the graph, one row each, from lists by name.
function tensors(ort, about, lists) {
  const feeds = {};
  for (const { name, type } of about.inputs.filter((v) => v.name in lists)) {
    const list = lists[name];
    const data = { float32: () => Float32Array.from(list), int64: () => BigInt64Array.from(list, BigInt), bool: () => Uint8Array.from(list, Number) }[type]();
    feeds[name] = new ort.Tensor(type, data, [1, list.length]);
  }
  return feeds;
}

// featureBatches is one batch of all rows, with one row of prices for an any-price policy.
function featureBatches(ort, about, lines, prices) {
  const rows = lines.map((line) => line.split(',').map((cell) => (cell.trim() ? Number(cell) : NaN)));
  const wrong = rows.findIndex((row) => row.length !== about.dim);
  if (wrong >= 0) throw new Error(`line ${wrong + 1} has ${rows[wrong].length} numbers; the policy takes ${about.dim}`);
  const trained = about.prices ? about.prices.inputs : {};
  const unknown = Object.keys(prices).filter((name) => !(name in trained));
  if (unknown.length) throw new Error(`${unknown} are no prices that the policy takes; it takes ${Object.keys(trained)}`);
  const feeds = tensors(ort, about, { ...trained, ...prices });
  return [{ features: new ort.Tensor('float32', Float32Array.from(rows.flat()), [rows.length, about.dim]), ...feeds }];
}

// tokenIDs cuts a text that is too long before the special tokens at its end.
function tokenIDs(tokenizer, text, most) {
  const one = tokenizer.encode('a').ids;
  const body = tokenizer.encode('a', { add_special_tokens: false }).ids;
  const tail = one.length - one.indexOf(body[0]) - body.length;
  const ids = [...tokenizer.encode(text).ids];
  return ids.length <= most ? ids : [...ids.slice(0, most - tail), ...ids.slice(ids.length - tail)];
}

// textBatches are the token ids of each text. Texts are not padded, as in pipe, so that scores do not depend on other texts.
function* textBatches(ort, about, lines) {
  const tokenizer = new Tokenizer(about.tokenizer, {});
  for (const line of lines) {
    const ids = tokenIDs(tokenizer, line, about.tokens.max_length);
    yield tensors(ort, about, { input_ids: ids, attention_mask: ids.map(() => 1), token_type_ids: ids.map(() => 0) });
  }
}

// decide returns expert, advice and expected cost of every line: [{expert, advice, cost}]. ort is the onnxruntime of the
// platform, model the bytes of the policy, about its description, and prices lists by the names of the price inputs.
export async function decide(ort, model, about, lines, prices = {}) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', model));
  if (about.format > 1 || Array.from(digest, (b) => b.toString(16).padStart(2, '0')).join('') !== about.sha256) {
    throw new Error('the description is that of another policy');
  }
  const input = about.encoder ? about.encoder.input : 'features';
  if (input !== 'text' && input !== 'features') throw new Error(`the policy takes an ${input}, which this example does not read`);
  const session = await ort.InferenceSession.create(model);
  const decisions = [];
  for (const feeds of input === 'text' ? textBatches(ort, about, lines) : featureBatches(ort, about, lines, prices)) {
    const out = await session.run(feeds);
    const pairs = out.scores.dims[1];
    out.action.data.forEach((value, row) => {
      const action = Number(value);
      if (action >= pairs || !(out.scores.data[row * pairs + action] > -1e30)) {
        throw new Error('no decision for a row: a feature is not a number, or no pair is available');
      }
      decisions.push({
        expert: about.experts[Number(out.expert.data[row])].name,
        advice: about.advice[Number(out.advice.data[row])].name,
        cost: out.expected_cost ? out.expected_cost.data[row * pairs + action] : '',
      });
    });
  }
  return decisions;
}

export const lines = (text) => text.split(/\r?\n/).filter((line, n, all) => n < all.length - 1 || line !== '');
export const table = (decisions) => decisions.map((d) => `${d.expert}\t${d.advice}\t${d.cost}\n`).join('');
