// Package regress fits estimates of what every pair of an expert and an advice costs (models/estimate): families of
// regressors, each with a few members, such as ridge regression with several penalties. Fees are not part of what is
// estimated.
package regress
