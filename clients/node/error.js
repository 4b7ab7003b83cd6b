// PolicyError says why a policy cannot be opened or cannot decide. See index.d.ts for the codes.
export class PolicyError extends Error {
  constructor(code, message, options = {}) {
    super(message, options);
    this.name = 'PolicyError';
    this.code = code;
    if (options.row !== undefined) this.row = options.row;
  }
}

// known refuses members of a request that nothing reads, such as misspelled ones.
export function known(code, what, object, names) {
  if (object === null || typeof object !== 'object' || Array.isArray(object)) throw new PolicyError(code, `${what} must be an object`);
  const unknown = Object.keys(object).filter((name) => !names.includes(name));
  if (unknown.length) throw new PolicyError(code, `${what} cannot have ${quoted(unknown)}; it can have ${quoted(names)}`);
}

export const quoted = (names) => names.map((name) => JSON.stringify(name)).join(', ');
