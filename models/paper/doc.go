// Package paper is the recipe with fixed settings: one method, one policy per
// lambda and seed, the weights of the last epoch. The method's surrogate may
// come from any module.
//
// It trains by models and makes policies (models/policy) of a cost tensor
// (costs).
package paper
