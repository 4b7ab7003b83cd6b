package imports

import (
	"context"
	"fmt"

	"pipe/costs"
	"pipe/costs/outcome"
	"pipe/costs/prices"
	"pipe/internal/digest"
	"pipe/internal/safetext"
	"pipe/internal/storage"
)

// ChangedPrices are the digests of two price tables from which measured fees were computed, "" for none.
type ChangedPrices struct {
	Before string `json:"before"`
	Now    string `json:"now"`
}

// changedPrices compares the prices of a tensor with those of the tensor at path. It is nil if they are the same, or if
// there is no tensor that can be read.
func changedPrices(ctx context.Context, path storage.Location, t *costs.Tensor) *ChangedPrices {
	r, err := costs.OpenReader(ctx, path, costs.ReadOptions{Unknown: true})
	if err != nil {
		return nil
	}
	defer r.Close()
	c := ChangedPrices{pricesDigest(r.Meta()), pricesDigest(t.Meta)}
	if c.Before == c.Now {
		return nil
	}
	return &c
}

// pricesDigest is the digest of the prices that a tensor records, "" if it has none.
func pricesDigest(meta map[string]string) string {
	recorded, err := prices.ParseRecorded(meta[costs.PricesKey])
	if err != nil || !digest.Is(recorded.Digest) {
		return ""
	}
	return recorded.Digest
}

// addUnknown writes the unknown outcomes for a terminal, nil for none.
func addUnknown(b *safetext.Fields, u *outcome.Unknown) {
	if u == nil {
		return
	}
	b.Add("unknown", "%d outcomes; %d rows have all; docs/cost-tensor.md#unknown-outcomes lists the commands that can use the others", u.Cells, u.Complete)
	for i, p := range u.Pairs {
		if i == shownPairs {
			b.Add("", "%d more pairs, see --json", len(u.Pairs)-shownPairs)
			break
		}
		b.Add("", "%s: %d rows", p.Pair, p.Rows)
	}
}

// shownPairs is how many pairs are listed at a terminal.
const shownPairs = 8

// addFees writes the measured fees for a terminal, nil for none.
func addFees(b *safetext.Fields, f *outcome.MeasuredFees, changed *ChangedPrices) {
	if f != nil {
		estimated, fixed := "", ""
		if f.Estimated {
			estimated = ", with tokens estimated from characters"
		}
		if f.Fixed {
			fixed = "; the means of the training rows are the experts' fixed fees"
		}
		b.Add("measured fees", "per pair and call, in the tensor%s%s", estimated, fixed)
		for i, p := range f.Pairs {
			if i == shownPairs {
				b.Add("", "%d more pairs, see --json", len(f.Pairs)-shownPairs)
				break
			}
			money := ""
			if f.Currency != "" {
				money = fmt.Sprintf(" = %.4g %s per 1,000 calls", 1000*p.Money, f.Currency)
			}
			b.Add("", "%s: mean fee %.4g%s, %d calls", p.Pair, p.Fee, money, p.Calls)
		}
	}
	if changed != nil {
		b.Add("prices", "the file that was here had other prices (%s, now %s): its measured fees, and policies trained on it, do not fit this one",
			orNone(changed.Before), orNone(changed.Now))
	}
}

func orNone(d string) string {
	if d == "" {
		return "none"
	}
	return d
}
