// Package expert calls one expert of a gateway: a service in one of the protocols of package
// protocol. An [Expert] has the key,
// the timeouts, the concurrency limit, the circuit breaker and the prices of that service. It separates two cases in which
// there is no answer. A [*Failure] is the fault of the service, so another expert can be asked. A request that the service
// refuses is an [Answer] with an error status; its field OtherMayAnswer says if another expert may accept it.
package expert
