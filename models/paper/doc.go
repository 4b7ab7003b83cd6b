// Package paper is the recipe with fixed settings: one method, one policy per lambda and seed, the weights of the last
// epoch. The method's surrogate may come from any module.
//
// It trains with models on a cost tensor (costs) and produces policies (models/policy).
package paper
