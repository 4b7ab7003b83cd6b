// Package ope says from a log of executed pairs what another policy would have cost: off-policy evaluation. It reads a
// decision log, or a cost tensor with propensities, has policies decide its rows, estimates their costs by models/offpolicy,
// and says how far the log can tell them apart.
package ope
