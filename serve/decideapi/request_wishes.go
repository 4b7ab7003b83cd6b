package decideapi

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"pipe/models/policy"
)

// wishes are what a request changes of a decision: prices, exclusions and exploration.
type wishes struct {
	Prices struct {
		Lambda  *number `json:"lambda"`
		Experts fees    `json:"experts"`
		Advice  fees    `json:"advice"` // before lambda
		Pairs   fees    `json:"pairs"`  // added to the fees of both

		Usage map[string]fees `json:"usage"` // by expert: prices by quantity
	} `json:"prices"`
	Unavailable struct {
		Experts []jsonString `json:"experts"`
		Advice  []jsonString `json:"advice"`
		Pairs   []jsonString `json:"pairs"`
	} `json:"unavailable"`
	Explore *bool `json:"explore"`
}

// Wishes are what a request of another protocol changes of a decision.
type Wishes struct {
	Prices    policy.PriceChange // prices, and what must not be chosen
	NoExplore bool
}

// WishError means that wishes cannot be read.
type WishError struct {
	Param string // such as prices.lambda; "": the whole
	Msg   string
}

func (e *WishError) Error() string { return e.Msg }

// ReadWishes reads an object with the members prices, unavailable and explore of POST /v1/decide. The error is a *WishError.
func ReadWishes(raw []byte) (Wishes, error) {
	var w wishes
	if err := json.Unmarshal(raw, &w, json.RejectUnknownMembers(true)); err != nil {
		return Wishes{}, asWishError(unreadable(err))
	}
	change, err := w.changes()
	if err != nil {
		return Wishes{}, asWishError(err)
	}
	return Wishes{change, w.noExplore()}, nil
}

func asWishError(err error) error {
	e := asRequestError(err)
	return &WishError{e.param, e.message}
}

func (b *wishes) noExplore() bool { return b.Explore != nil && !*b.Explore }

// changes returns the prices and the exclusions of a request.
func (b *wishes) changes() (c policy.PriceChange, err error) {
	c.Lambda = (*float64)(b.Prices.Lambda)
	f, u := &b.Prices, &b.Unavailable
	usage := 0
	for _, of := range f.Usage {
		usage += 1 + len(of)
	}
	if n := usage + len(f.Experts) + len(f.Advice) + len(f.Pairs) + len(u.Experts) + len(u.Advice) + len(u.Pairs); n > maxNames {
		return c, invalid("invalid_value", "unavailable", "there are %d fees and unavailable pairs; at most %d are read", n, maxNames)
	}
	for _, kind := range []struct {
		of      func(name string) policy.Part
		fees    fees
		without []jsonString
	}{{policy.Expert, f.Experts, u.Experts}, {policy.Advice, f.Advice, u.Advice}, {policy.Pair, f.Pairs, u.Pairs}} {
		for _, fee := range kind.fees {
			c.Fees = append(c.Fees, policy.Fee{Of: kind.of(fee.name), Amount: float64(fee.amount)})
		}
		slices.Sort(kind.without)
		for _, name := range slices.Compact(kind.without) {
			c.Without = append(c.Without, kind.of(string(name)))
		}
	}
	for _, expert := range slices.Sorted(maps.Keys(f.Usage)) {
		for _, price := range f.Usage[expert] {
			c.UsageOf = append(c.UsageOf, policy.UsagePrice{Expert: expert, Quantity: price.name, Price: float64(price.amount)})
		}
	}
	return c, nil
}
