// Package methods lists the methods of reports: those that are trained (models,
// models/auto) and what they are compared with (models/baseline). It knows the
// order of tables, and by which name a policy may not be called.
package methods
