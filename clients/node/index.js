export { PolicyError } from './error.js';
export { openPolicy } from './policy.js';
