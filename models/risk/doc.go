// Package risk chooses how many decisions may be accepted so that their risk, the expected loss of a decision that is accepted, is at
// most a stated level. A decision is accepted if its score, an estimate of its loss, is at most a threshold; a larger threshold
// accepts more. The threshold is chosen on samples that trained nothing.
//
// The methods:
//
//   - [LTT], learn then test (Angelopoulos, Bates, Candes, Jordan and Lei 2021, "Learn then test: calibrating predictive
//     algorithms to achieve risk control"): thresholds are tested from the smallest on, by the p-value of Hoeffding and Bentkus,
//     until one is not shown to have a risk of at most alpha. With the stated confidence the chosen threshold has one.
//   - [RCPS], the same walk with the betting bound of Waudby-Smith and Ramdas as in Bates, Angelopoulos, Lei, Malik and Jordan
//     2021, "Distribution-free, risk-controlling prediction sets".
//   - [CRC], conformal risk control (Angelopoulos, Bates, Fisch, Lei and Schuster 2022). It promises less and something else:
//     the expected loss per decision, where one that is not accepted has the loss 0, is at most alpha on average over the
//     samples that may be drawn.
//
// All need samples that are drawn alike and independently, as later decisions are.
package risk
