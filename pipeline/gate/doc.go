// Package gate judges a candidate policy by the decision log of a server that gives it a share of the users. A [Gate] takes
// decisions and outcomes one by one, and holds an interval of the gain of the candidate over the live policy that may be
// looked at after every outcome. [Read] does the same for a log that is there.
//
// What counts is one decision of each user: the first one on which the two policies give the pairs different probabilities.
// Until then both have treated the user alike, so that the decision does not depend on which of the two the user has. Later
// decisions of the user depend on it, and do not count. Where a request names no user, the request stands for one.
//
// A decision belongs to the pair that was drawn. If that failed and another pair answered, the cost is that of the answer: what
// the service as a whole costs with this choice. docs/candidates.md has the procedure and what it was measured to do.
package gate
