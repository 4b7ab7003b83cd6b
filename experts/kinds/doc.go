// Package kinds lists the kinds of parts of this module: sources, splits, task losses, advice, experts and features. It is
// the only package that knows all of them. Splits and losses, a few lines each, live here.
package kinds
