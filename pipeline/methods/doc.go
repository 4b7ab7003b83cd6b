// Package methods lists the methods in reports: the trained ones (models, models/auto) and those that they are compared
// with (models/baseline). It defines the order in tables and the names that other policies may not have.
package methods
