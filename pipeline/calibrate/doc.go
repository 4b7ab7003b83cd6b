// Package calibrate is the stage calibrate: a policy file gets an output that says which decisions it accepts, so that the risk of
// those is at most a stated one. Methods are those of package models/risk.
package calibrate
