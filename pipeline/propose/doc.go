// Package propose is the stage init: it looks at a user's table of outcomes, writes the configuration of its import with
// comments, and says what to run next. A configuration is only written after an import with it has gone well.
package propose
