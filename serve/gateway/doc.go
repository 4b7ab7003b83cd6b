// Package gateway answers chat completions as OpenAI's API does. A policy chooses an expert and advice for a
// conversation; the gateway fetches the advice, calls the expert, and passes the answer on. An expert that fails before
// the first byte of its answer is replaced by the next best pair.
package gateway
