// Package convert is the stage convert: it makes an encoder of a model, puts an encoder in front of a policy, and freezes an
// any-price policy at one set of prices.
package convert
