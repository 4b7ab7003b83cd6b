// Package gateway answers chat completions as OpenAI's API does. A policy chooses an expert and advice for a
// conversation; the gateway fetches the advice, calls the expert, and returns its answer, also as a stream. An expert that
// fails before the first byte of its answer is replaced by the next best pair.
//
// Use it to put a policy between existing clients of OpenAI's API and several services with that API. docs/gateway.md
// describes it for operators.
package gateway
