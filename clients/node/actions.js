// The experts, advice and pairs of a policy by name.
import { PolicyError, known, quoted, shown } from './error.js';

const SHOWN = 12;

export class Actions {
  constructor(about) {
    this.experts = about.experts.map(({ name }) => name);
    this.advice = about.advice.map(({ name }) => name);
    this.pairs = this.experts.flatMap((expert) => this.advice.map((advice) => `${expert}/${advice}`));
    this.exists = this.pairs.map(() => true);
    for (const { expert, advice } of about.unavailable ?? []) {
      this.exists[this.experts.indexOf(expert) * this.advice.length + this.advice.indexOf(advice)] = false;
    }
  }

  // index is the place of a name among this.experts, this.advice or this.pairs.
  index(code, kind, list, name) {
    const at = list.indexOf(name);
    const more = list.length > SHOWN ? ` and ${list.length - SHOWN} more` : '';
    if (at < 0) throw new PolicyError(code, `unknown ${kind} ${shown(name)}; known are ${quoted(list.slice(0, SHOWN))}${more}`);
    if (list.lastIndexOf(name) > at) throw new PolicyError(code, `pair ${JSON.stringify(name)}: two pairs have this name, because names contain a slash`);
    return at;
  }

  // without says of every pair whether it may be chosen if these experts, advice and pairs may not.
  without(unavailable = {}) {
    const code = 'wrong_input';
    known(code, 'unavailable', unavailable, ['experts', 'advice', 'pairs']);
    const { experts = [], advice = [], pairs = [] } = unavailable;
    if (![experts, advice, pairs].every(Array.isArray)) throw new PolicyError(code, 'every member of unavailable must be a list of names');
    const gone = {
      expert: new Set(experts.map((name) => this.index(code, 'expert', this.experts, name))),
      advice: new Set(advice.map((name) => this.index(code, 'advice', this.advice, name))),
      pair: new Set(pairs.map((name) => this.index(code, 'pair', this.pairs, name))),
    };
    const left = this.exists.map((exists, pair) => {
      const expert = Math.floor(pair / this.advice.length);
      return exists && !gone.expert.has(expert) && !gone.advice.has(pair % this.advice.length) && !gone.pair.has(pair);
    });
    if (!left.includes(true)) throw new PolicyError(code, `no pair remains without ${quoted([...experts, ...advice, ...pairs])}`);
    return left;
  }
}
