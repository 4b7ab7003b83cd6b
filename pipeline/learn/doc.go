// Package learn is the closed loop as one run: it reads the log of a server, looks whether the log can carry learning, trains a
// policy against the deployed one, judges it on decisions that were held out from training, and puts it where the server
// takes its candidate from. A run may be repeated at any time, also twice at once and after a kill at any point: it does
// nothing if nothing is new, and says why.
package learn
