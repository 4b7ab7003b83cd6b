// Package decideapi serves decisions as JSON over HTTP: POST /v1/decide, POST /v1/outcomes, GET /v1/policies, and the
// OpenAPI file of the server. It makes no calls to experts: the client calls the expert that was chosen, and reports the
// outcome. Use it where requests are not chat completions, or must not pass through a gateway. docs/decide-api.md
// describes the interface for its clients.
package decideapi
