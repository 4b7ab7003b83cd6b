// PolicyError says why a policy cannot be opened or cannot decide. See index.d.ts for the codes.
export class PolicyError extends Error {
  constructor(code, message, options = {}) {
    super(message, options);
    this.name = 'PolicyError';
    this.code = code;
    if (options.row !== undefined) this.row = options.row;
  }
}

// known refuses members of a request that nothing reads, such as misspelled ones, and objects that hide theirs, such as a Map.
export function known(code, what, object, names) {
  if (!plain(object)) throw new PolicyError(code, `${what} must be a plain object: { name: value }`);
  const unknown = Object.keys(object).filter((name) => !names.includes(name));
  if (unknown.length) throw new PolicyError(code, `${what} cannot have ${quoted(unknown)}; it can have ${quoted(names) || 'nothing'}`);
}

// plain objects are those of braces, also if another window or realm made them.
function plain(object) {
  if (object === null || typeof object !== 'object') return false;
  const prototype = Object.getPrototypeOf(object);
  return prototype === null || Object.hasOwn(prototype, 'isPrototypeOf');
}

// shown is a wrong value in a message. JSON.stringify fails on some, such as a BigInt and a list that has itself.
export function shown(value) {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `the BigInt ${value}n`;
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return 'a list';
  if (typeof value === 'function') return 'a function';
  return Object(value) === value ? 'an object' : String(value);
}

export const quoted = (names) => names.map((name) => JSON.stringify(name)).join(', ');
