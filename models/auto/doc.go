// Package auto is the recipe that needs no choices by the user: it searches a small grid of settings on held-out
// training rows, trains the best candidate with several seeds, and falls back to the best fixed pair if the gain over
// it is not certain.
//
// It trains with models, decides with the policy that would be deployed (models/policy), and reads a cost tensor
// (costs).
package auto
