// Package costs defines the actions of a composite policy and their costs. An
// action is an expert together with the advice it is shown. The cost tensor
// holds one task loss per instance and action; fees are kept with the actions.
//
// Experts and advice are numbered from 0. Advice 0 is the absence of advice and
// is free. The action of expert j under advice k has the index j*(K+1)+k, where
// K+1 is the number of advice levels, absence included.
//
// Fees are stored separately and never added to the losses in a file, so that
// one tensor serves every cost regime: the cost of action (j, k) on instance n
// is
//
//	loss[n,j,k] + beta_j + lambda*gamma_k + fee[n,j,k]
//
// with the expert's fee beta, the advice's base fee gamma, the multiplier
// lambda and an optional measured fee.
package costs
