// Package auto is the recipe that needs no choices by the user. It fits members of several families (models/regress),
// blends them by their errors on left-out rows, and leaves the best fixed pair only where that pays. If the gain is not
// shown on left-out rows, the policy is the best fixed pair.
//
// It reads a cost tensor (costs) and returns policies by estimates (models/policy), for one price or for any.
package auto
