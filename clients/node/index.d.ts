/** What this package uses of onnxruntime-node or onnxruntime-web. */
export interface Runtime {
  InferenceSession: { create(model: Uint8Array, options?: any): Promise<Session> };
  Tensor: new (type: any, data: any, dims: readonly number[]) => any;
}

interface Session {
  run(feeds: any): Promise<any>;
  release(): Promise<void>;
}

export interface OpenOptions {
  /** The module onnxruntime-node or onnxruntime-web. */
  ort: Runtime | { default: Runtime };
  /** Options of the runtime's session, such as executionProviders. */
  session?: object;
}

/** The bytes of a policy file, and the JSON that pipe writes beside it, as text or parsed. */
export interface PolicyFile {
  model: Uint8Array | ArrayBuffer;
  description: string | object;
}

/** Prices, in plain objects: a Map is refused. What is left out is as in the training. Fees are from 0 to 1e12, in the unit of the loss. */
export interface Prices {
  /** Multiplier of the fees of advice. */
  lambda?: number;
  /** Fees by name. */
  experts?: Record<string, number>;
  /** Fees by name, before lambda. */
  advice?: Record<string, number>;
  /** Fees of pairs, such as "large/search", that are added to those of the expert and the advice. */
  pairs?: Record<string, number>;
  /** By expert: prices of what its calls use. Only for a policy that knows it. */
  usage?: Record<string, Usage>;
}

/** Prices in the unit of the loss: of a million tokens, of a call, of a second. */
export interface Usage {
  tokens_in?: number;
  tokens_cached?: number;
  tokens_out?: number;
  calls?: number;
  seconds?: number;
}

/** What must not be chosen, by name. */
export interface Unavailable {
  experts?: string[];
  advice?: string[];
  pairs?: string[];
}

type Numbers = readonly number[] | Float32Array | Float64Array;
/** A row: numbers in the order of the policy's features, or a number for every name of a feature. */
type Row = Numbers | Record<string, number>;

/** A request has exactly one of features, text and texts. */
export interface Request {
  /** One row or several. A Float32Array has the rows one after the other. */
  features?: Row | readonly Row[];
  text?: string;
  texts?: readonly string[];
  /** Only for an any-price policy. */
  prices?: Prices;
  unavailable?: Unavailable;
  /** How many pairs each decision ranks, best first: a whole number from 0. Default: 0. */
  top?: number;
}

export interface Pair {
  /** Expert-major: the index of the expert times the number of advice, plus the index of the advice. */
  index: number;
  /** Such as "large/search". */
  pair: string;
  expert: string;
  advice: string;
  /** Higher is better. */
  score: number;
  /** The expected loss without fees; null if the policy states none. */
  expected_loss: number | null;
  /** The same plus the fees. */
  expected_cost: number | null;
}

export interface Decision extends Pair {
  /** Only of a policy with a guarantee: whether it is about this decision. */
  accepted?: boolean;
  /** What should take a decision that is not accepted: an expert, a pair or "abstain". */
  instead?: string;
  ranked?: Pair[];
}

export interface Answer {
  prices: {
    lambda: number;
    /** Why the policy was not compared with the best fixed pair at these prices. Empty: it was, or the prices are fixed. */
    unchecked: string[];
  };
  decisions: Decision[];
}

/** A request for the next step of a cascade, on one row. */
export interface StepRequest {
  features: Row;
  /** The pairs that were executed, with what was seen of their answers. A fact that is null or left out is not known. */
  executed?: Record<string, Record<string, string | number | null>>;
  /** Only for an any-price cascade. */
  prices?: Prices;
  /** What cannot be executed next. Answers at hand stay. */
  unavailable?: Unavailable;
}

export interface Step extends Omit<Pair, 'score'> {
  prices: Answer['prices'];
  /** Whether the answer of the pair, which was executed, is to be returned. Else the pair is to be executed. */
  accept: boolean;
  /** Of the best answer at hand; null if there is none. */
  expected_loss: number | null;
  /** What is still to come: fees that are not yet paid, and the loss. */
  expected_cost: number;
  accepted?: boolean;
  instead?: string;
}

export interface Policy {
  /** A policy decides once: call decide. A cascade looks at answers: call next. */
  readonly kind: 'policy' | 'cascade';
  /** What decide takes. */
  readonly input: 'features' | 'text';
  readonly experts: string[];
  /** The first is the absence of advice. */
  readonly advice: string[];
  /** The pairs that exist. */
  readonly pairs: string[];
  /** The prices of the training; null if prices are fixed. */
  readonly prices: Required<Omit<Prices, 'pairs'>> | null;
  /** The JSON beside the policy, see docs/policy.md. */
  readonly description: any;
  decide(request: Request): Promise<Answer>;
  next(request: StepRequest): Promise<Step>;
  /** Frees the session of the runtime, after the decisions that were asked for before. Later ones fail. */
  close(): Promise<void>;
}

export class PolicyError extends Error {
  readonly code: 'no_runtime' | 'wrong_policy' | 'wrong_input' | 'wrong_prices' | 'no_decision' | 'closed';
  /** The row that is wrong, from 0. */
  readonly row?: number;
}

/**
 * Opens a policy file. A path (node) or a URL stands for two files: the policy, and its description, whose name has
 * ".json" behind that of the policy. In node, a URL can also be that of a file.
 */
export function openPolicy(source: string | URL | PolicyFile, options: OpenOptions): Promise<Policy>;
