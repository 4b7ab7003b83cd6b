// Package prices reads price files: what a call of a model costs by its tokens, and from which date. It turns the usage
// that a log has of a call into money.
package prices
