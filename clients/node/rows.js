// Rows to what the graph takes: features in blocks, and texts as the ids of their tokens.
import { PolicyError, shown } from './error.js';

const BLOCK = 1024; // the most rows at once: neighbours need a number for every training row

const wrong = (message, row) => new PolicyError('wrong_input', row === undefined ? message : `row ${row}: ${message}`, { row });

// featureBlocks cuts rows into blocks: { rows, values: { features } }, each a flat list of rows x about.dim. They are copies, because the
// caller may change the rows before the graph sees them.
export function featureBlocks(about, features) {
  const flat = features instanceof Float32Array ? new Float32Array(features) : flatten(about, features);
  if (flat.length === 0 || flat.length % about.dim !== 0) throw wrong(`${flat.length} features; the policy takes ${about.dim} for every row`);
  const bad = flat.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw wrong(`feature ${bad % about.dim}${named(about, bad % about.dim)} is ${flat[bad]}`, Math.floor(bad / about.dim));
  const step = BLOCK * about.dim;
  const blocks = [];
  for (let at = 0; at < flat.length; at += step) {
    const part = flat.subarray(at, at + step);
    blocks.push({ rows: part.length / about.dim, values: { features: part } });
  }
  return blocks;
}

const named = (about, feature) => (about.feature_names ? ` (${about.feature_names[feature]})` : '');

// flatten takes one row or a list of rows. A row is a list of numbers, or an object with a number for every name.
function flatten(about, features) {
  if (typeof features !== 'object' || features === null) throw wrong('features are not a list of rows');
  const list = isList(features) ? features : [features];
  const rows = list.length > 0 && typeof list[0] === 'number' ? [list] : list;
  const flat = new Float32Array(rows.length * about.dim);
  for (let n = 0; n < rows.length; n++) flat.set(listed(about, rows[n], n), n * about.dim);
  return flat;
}

const isList = (value) => Array.isArray(value) || ArrayBuffer.isView(value);

function listed(about, row, n) {
  const list = isList(row) ? row : byName(about, row, n);
  if (list.length !== about.dim) throw wrong(`${list.length} features; the policy takes ${about.dim}`, n);
  const bad = list.findIndex((value) => typeof value !== 'number');
  if (bad >= 0) throw wrong(`feature ${bad}${named(about, bad)} is ${shown(list[bad])}, not a number`, n);
  return list;
}

function byName(about, row, n) {
  const names = about.feature_names;
  if (row === null || typeof row !== 'object') throw wrong(`the features are ${shown(row)}, not a list of numbers`, n);
  if (!names) throw wrong('the policy has no names of features: give a list of numbers', n);
  const unknown = Object.keys(row).filter((name) => !names.includes(name));
  const missing = names.filter((name) => !Object.hasOwn(row, name));
  if (unknown.length) throw wrong(`there is no feature ${JSON.stringify(unknown[0])}; the policy takes ${names.join(', ')}`, n);
  if (missing.length) throw wrong(`the feature ${JSON.stringify(missing[0])} is missing`, n);
  return names.map((name) => row[name]);
}

// openTokenizer reads the tokenizer of the description, and counts the special tokens that it puts at the end of a text.
export async function openTokenizer(about) {
  const { Tokenizer } = await import('@huggingface/tokenizers');
  const tokenizer = new Tokenizer(about.tokenizer, {});
  const one = tokenizer.encode('a').ids;
  const body = tokenizer.encode('a', { add_special_tokens: false }).ids;
  if (body.length === 0) throw new PolicyError('wrong_policy', 'the tokenizer makes no token of the letter a, so it is not known where special tokens are');
  return { tokenizer, tail: one.length - one.indexOf(body[0]) - body.length };
}

// textBlocks checks and copies texts, and has a block for every text.
export function textBlocks(about, tokenizer, texts) {
  if (!Array.isArray(texts) || texts.length === 0) throw wrong('texts must be a list with at least one text');
  const bad = texts.findIndex((text) => typeof text !== 'string' || !text.isWellFormed());
  if (bad >= 0) throw wrong('it is not a text, or half of a character is missing', bad);
  return tokenBlocks(about, tokenizer, [...texts]);
}

// tokenBlocks makes tokens of a text when its turn comes. Texts are not padded, as in pipe, so that a decision does not depend on other texts.
function* tokenBlocks(about, tokenizer, texts) {
  for (const text of texts) {
    const ids = tokenIDs(tokenizer, text, about.tokens.max_length);
    yield { rows: 1, values: { input_ids: ids, attention_mask: ids.map(() => 1), token_type_ids: ids.map(() => 0) } };
  }
}

// tokenIDs cuts a text that is too long before the special tokens at its end.
function tokenIDs({ tokenizer, tail }, text, most) {
  const ids = [...tokenizer.encode(text).ids];
  return ids.length <= most ? ids : [...ids.slice(0, most - tail), ...ids.slice(ids.length - tail)];
}
