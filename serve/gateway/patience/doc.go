// Package patience learns how long the experts of a gateway take until an answer begins, by the length of the prompt. From
// that it says how long a call may stay silent, when an expert is silent on all of its calls, how late an answer will
// probably be, and when a second request is worth its price.
package patience
