// Package expert calls one expert of a gateway: a service with OpenAI's API for chat completions. It has the key, the
// limits, the circuit breaker and the prices of that service, and tells failures of the service, after which another
// expert can be asked, from requests that the service refuses because they are wrong.
package expert
