// Package stages plays a cascade over services: an answer is read whole, and then the policy accepts it or has another pair
// asked. It knows what was asked, what was seen of each answer, and what is left; whoever uses it makes the calls.
package stages
