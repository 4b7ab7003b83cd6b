// Package gateway answers requests to models as the APIs of OpenAI and Anthropic do. A policy chooses an expert and advice for a
// conversation; the gateway fetches the advice, calls the expert, and returns its answer, also as a stream. An expert that
// fails before the first byte of its answer is replaced by the next best pair.
//
// Use it to put a policy between existing clients of these APIs and several services. docs/gateway.md describes it for
// operators, and docs/protocols.md what is translated between two protocols.
package gateway
