// Package auto is the recipe that needs no choices by the user: it searches a
// small grid of settings on rows that were left out, trains the best candidate
// with several seeds, and keeps the best fixed pair where the gain over it is
// not certain.
//
// It trains by models, decides by the policy that would be served
// (models/policy), and reads a cost tensor (costs).
package auto
