// The policy file and the description that pipe writes beside it.
import { PolicyError } from './error.js';

const wrong = (message, cause) => new PolicyError('wrong_policy', message, cause && { cause });

// load returns the bytes of a policy file and its description, which was checked to be that of these bytes.
export async function load(source) {
  const { model, about, name } = source?.model ? given(source) : await read(source);
  check(about, name);
  if ((await sha256(model)) !== about.sha256) {
    throw wrong(`the description is of another file than ${name}: copy both files again, as pipe wrote them`);
  }
  return { model, about };
}

function given({ model, description }) {
  const bytes = model instanceof ArrayBuffer ? new Uint8Array(model) : model;
  if (!(bytes instanceof Uint8Array)) throw wrong('model must be the bytes of a policy file, as Uint8Array or ArrayBuffer');
  const name = 'the policy';
  if (!description) throw wrong('description is missing: it is the JSON file that pipe writes beside a policy');
  return { model: bytes, name, about: typeof description === 'string' ? parse(description, name) : description };
}

// read reads a path in node, and a URL everywhere. The name of the description is that of the policy with .json behind it.
async function read(source) {
  if (typeof source !== 'string' && !(source instanceof URL)) throw wrong('a policy is a path, a URL, or { model, description }');
  const name = String(source);
  // A bundler for browsers does not see this, so it does not look for the module.
  const files = /^https?:/i.test(name) ? undefined : globalThis.process?.getBuiltinModule?.('node:fs/promises');
  const path = files && typeof source === 'string' && !/^file:\/\//i.test(source);
  const [at, beside] = path ? [source, `${source}.json`] : urls(source);
  const model = await bytesAt(files, at, name);
  const description = await bytesAt(files, beside, `${name}.json, the description that pipe writes beside a policy`);
  return { model, name, about: parse(new TextDecoder().decode(description), name) };
}

function urls(source) {
  const at = new URL(source, globalThis.document?.baseURI ?? globalThis.location?.href);
  const beside = new URL(at);
  beside.pathname += '.json';
  return [at, beside];
}

async function bytesAt(files, at, what) {
  try {
    if (files) return new Uint8Array(await files.readFile(at));
    const answer = await fetch(at);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  } catch (cause) {
    throw wrong(`cannot read ${what}: ${cause.message}`, cause);
  }
}

function parse(text, name) {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw wrong(`the description of ${name} is not JSON: ${cause.message}`, cause);
  }
}

// check refuses what is not the description of a policy that this package can run.
function check(about, name) {
  const lists = ['experts', 'advice', 'inputs', 'outputs'];
  if (!['policy', 'cascade'].includes(about?.kind) || !lists.every((list) => about[list]?.length > 0)) {
    throw wrong(`the JSON beside ${name} does not describe a policy`);
  }
  if (about.format !== 1) throw wrong(`the description of ${name} has the format ${about.format}; this version of the package reads format 1`);
  if (about.encoder && about.encoder.input !== 'text') {
    throw wrong(`${name} takes an ${about.encoder.input}, which this package does not read: pipe decide and pipe serve do`);
  }
}

async function sha256(bytes) {
  if (!globalThis.crypto?.subtle) throw wrong('the browser computes no SHA-256 on this page: open it over https or from localhost');
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
