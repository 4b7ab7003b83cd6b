// Package costing is the stage costs: it asks the experts of a configuration about its instances, and writes a cost tensor. Use
// it where experts can be asked; outcomes that exist already come in by package imports.
package costing
