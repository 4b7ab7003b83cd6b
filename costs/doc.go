// Package costs holds what a composite policy chooses from and what each
// choice costs: the actions (an expert together with the advice it is shown),
// their fees, and the cost tensor, one task loss per instance and action.
//
// Experts and advice are counted from 0. Advice 0 is the absence of advice and
// is free. The action of expert j under advice k has the index j*(K+1)+k, where
// K+1 is the number of advice levels, absence included.
//
// Fees are kept beside the losses and never added to them in a file, so that
// one tensor serves every cost regime: the cost of action (j, k) on instance n
// is
//
//	loss[n,j,k] + beta_j + lambda*gamma_k + fee[n,j,k]
//
// with the expert's fee beta, the advice's base fee gamma, the multiplier
// lambda and an optional measured fee.
package costs
