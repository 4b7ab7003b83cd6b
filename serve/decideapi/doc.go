// Package decideapi is the HTTP interface for decisions alone: POST /v1/decide, POST /v1/outcomes, GET /v1/policies, and
// the OpenAPI file of the server. docs/decide-api.md describes it for users.
package decideapi
