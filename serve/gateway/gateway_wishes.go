package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/serve/decideapi"
	"pipe/serve/decision"
)

// The request headers with which a caller changes a decision, and the field of its body.
const (
	headerLambda  = "X-Pipe-Lambda"  // a number
	headerFees    = "X-Pipe-Fees"    // expert=NAME:FEE or advice=NAME:FEE, with commas between them
	headerWithout = "X-Pipe-Without" // expert=NAME, advice=NAME or pair=EXPERT/ADVICE, with commas between them
	headerExplore = "X-Pipe-Explore" // true or false
	wishField     = "pipe"           // an object with prices, unavailable and explore, as POST /v1/decide has them
)

// wishes are what a request changes of its decision.
type wishes struct {
	decideapi.Wishes
	from []string // the headers and the field that say it, for errors; none: nothing is changed
}

// maxWishes bounds the fees and exclusions of a header.
const maxWishes = 4096

// readWishes takes the wishes from the headers and the body of a request, and returns the request without them.
func (c *chat) readWishes() error {
	text, rest, err := c.request.Cut(wishField)
	if err != nil {
		return err
	}
	c.request = rest
	w := &c.wishes
	if text != nil {
		if w.Wishes, err = decideapi.ReadWishes(text); err != nil {
			return wrongField(err)
		}
		w.from = append(w.from, wishField)
	}
	return w.readHeaders(c.r.Header)
}

func (w *wishes) readHeaders(h http.Header) error {
	for _, of := range []struct {
		name string
		read func(string) error
	}{{headerLambda, w.readLambda}, {headerFees, w.readFees}, {headerWithout, w.readWithout}, {headerExplore, w.readExplore}} {
		values := h.Values(of.name)
		if len(values) == 0 {
			continue
		}
		name := strings.ToLower(of.name)
		if err := of.read(strings.Join(values, ",")); err != nil {
			return &failure{http.StatusBadRequest, invalidRequest, "invalid_request", name, "the header " + name + " " + err.Error()}
		}
		w.from = append(w.from, name)
	}
	return nil
}

// wrongField is the failure of a field that cannot be read.
func wrongField(err error) *failure {
	param := wishField
	var wrong *decideapi.WishError
	if errors.As(err, &wrong) && wrong.Param != "" {
		param += "." + wrong.Param
	}
	return &failure{http.StatusBadRequest, invalidRequest, "invalid_request", param, "the field " + wishField + ": " + err.Error()}
}

func (w *wishes) readLambda(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || v-v != 0 {
		return fmt.Errorf("is %.100q, which is not a number", text)
	}
	if w.Prices.Lambda != nil {
		return errors.New("is there, and so is prices.lambda in the field " + wishField + "; send one of them")
	}
	w.Prices.Lambda = &v
	return nil
}

func (w *wishes) readFees(text string) error {
	return eachOf(text, func(part string) error {
		fee, err := policy.ParseFee(part)
		if err != nil {
			return fmt.Errorf("has a wrong fee: %w", err)
		}
		w.Prices.Fees = append(w.Prices.Fees, fee)
		return nil
	})
}

func (w *wishes) readWithout(text string) error {
	return eachOf(text, func(part string) error {
		p, err := policy.ParsePart(part)
		if err == nil {
			w.Prices.Without = appendNew(w.Prices.Without, p)
		}
		return err
	})
}

func (w *wishes) readExplore(text string) error {
	explore, err := strconv.ParseBool(strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("is %.100q, neither true nor false", text)
	}
	w.NoExplore = w.NoExplore || !explore
	return nil
}

// eachOf calls f for the elements of a list with commas.
func eachOf(text string, f func(part string) error) error {
	parts := strings.Split(text, ",")
	if len(parts) > maxWishes {
		return fmt.Errorf("has %d elements; at most %d are read", len(parts), maxWishes)
	}
	for _, part := range parts {
		if err := f(strings.TrimSpace(part)); err != nil {
			return err
		}
	}
	return nil
}

// appendNew appends parts that a list does not have.
func appendNew(list []policy.Part, more ...policy.Part) []policy.Part {
	for _, p := range more {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// exclude adds what the caller excludes to what cannot be chosen. Experts that only wait for their circuit breaker are no
// fault of the caller.
func (w *wishes) exclude(actions *costs.Actions, without, waiting []policy.Part) ([]policy.Part, error) {
	all := appendNew(slices.Clone(without), w.Prices.Without...)
	if _, err := policy.Without(actions, all); err != nil && len(w.Prices.Without) > 0 {
		return nil, &wishError{w.from, err}
	}
	all = appendNew(all, waiting...)
	if _, err := policy.Without(actions, all); err != nil {
		return nil, errNoExpert
	}
	return all, nil
}

// change are the prices of the request with everything that must not be chosen.
func (w *wishes) change(without []policy.Part) policy.PriceChange {
	c := w.Prices
	c.Without = without
	return c
}

// explain names the wishes in an error about the prices of a request that has some.
func (w *wishes) explain(err error) error {
	var price *decision.PriceError
	if len(w.from) == 0 || !errors.As(err, &price) {
		return err
	}
	return &wishError{w.from, price}
}
