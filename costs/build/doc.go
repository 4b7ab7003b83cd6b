// Package build makes a cost tensor out of a user's own work: it runs every
// expert under every advice over every instance, judges the answers, and keeps
// what is done so that a run that was stopped, by whatever means, goes on.
//
// The parts are interfaces of one or two methods: Source (where instances come
// from), Advice (what an expert is shown), Expert (who answers), TaskLoss (what
// an answer loses) and Feature (what a policy sees). Each implementation is a
// file that holds its settings, its constructor and its methods; registry.go
// lists the kinds by name.
package build
