// Package session knows the conversations behind chat requests: which expert answers them, and how much of their prompt each
// service still has in its cache. From that it computes what each pair of a policy costs now beside its fee, so that a policy
// which decides turn by turn does not throw away cached prompts. It also keeps the expert while tool calls are answered.
//
// # Prices of a switch
//
// A service bills a prompt of T tokens of which it has c in its cache as P ((T - c) v + c r): P is the price of a token, r < 1
// the multiplier of cached ones, and v >= 1 that of tokens that are written to the cache. The fee of a pair in a policy has
// money F for a prompt at the plain price. The pair's prompt in this turn costs more than that by
//
//	delta_a = P ((T - c) v + c r) - F,
//
// which is negative where much is cached, and positive where the whole prompt must be written. F is P T for a policy whose fees
// follow the tokens of each prompt. Fees that are the same for every prompt are for prompts of usual length: F is P times the mean
// length of the prompts of the traffic, but not more than the fee.
//
// The choice also decides which caches later turns find. Let S be the set of experts that have the conversation in their cache.
// After expert e has answered, that is S with e. With gamma = N / (1 + N) the probability of another turn (N more turns are
// expected), and V(S) the expected cost of all later turns under the best choices,
//
//	V(S) = E[ W(S without the caches that expire in the pause) ],
//	W(S) = E[ min_b  l_b + p_b(S) + gamma V(S with b) ],
//
// where l_b is what the best pair of expert b costs beside its prompt, and p_b(S) is the price of the next prompt: with hits if b is
// in S, and with nothing cached if not. The distribution of l is that of the last decisions of the policy, and that of pauses and
// the growth of prompts is counted from the traffic. So a saving of later turns counts as often as it will be made, and never
// more than the price of writing the prompt, because any later turn could pay that, too. The surcharge of a pair is
//
//	s_a = delta_a + gamma V(S with e_a) - min_b (delta_b + gamma V(S with e_b)) >= 0.
//
// What is subtracted is the same for all pairs, so it changes no decision. Nobody is charged for staying with a warm expert
// where that is cheapest; the others are charged what leaving it costs beyond their own fee.
//
// If a pair changes the prompt so that a later turn finds only a share kappa of it, the gain of V is multiplied by kappa.
// A cache that is not used now stays as it is: what was added to the conversation since then is written later instead of
// now. That is why a warm expert is also asked less for new tokens if it will be asked again anyway: they are written once.
//
// Before the policy has made enough decisions for a distribution of l, the cache that saves most is taken to be used again with the
// probability gamma.
//
// # What is cached
//
// A cache holds prefixes. A conversation finds at an expert what that expert's last prompt in this conversation shares with the
// present one from the beginning on, if its time to live has not passed. A request continues a conversation if its first
// messages are the messages of an earlier request, which is seen by their digests. Experts with the same service and model share
// a cache. Of the tokens that could be found, services report how many were: this share is kept per conversation, and for
// each service as a starting point.
package session
