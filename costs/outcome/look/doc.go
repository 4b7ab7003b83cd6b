// Package look looks at a table of outcomes that its user has not described, and proposes the configuration that imports it:
// which column is what, and why. What is uncertain is said beside it. A table that cannot be used is a *costs.DataError
// with a hint that says what to record.
package look
