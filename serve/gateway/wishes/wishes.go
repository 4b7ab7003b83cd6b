// Package wishes reads what a request changes of its decision: prices, exclusions, exploration, by headers or by a field of the body.
package wishes

import (
	"encoding/json"
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
	HeaderLambda  = "X-Pipe-Lambda"  // a number
	HeaderFees    = "X-Pipe-Fees"    // expert=NAME:FEE or advice=NAME:FEE, with commas between them
	HeaderWithout = "X-Pipe-Without" // expert=NAME, advice=NAME or pair=EXPERT/ADVICE, with commas between them
	HeaderExplore = "X-Pipe-Explore" // true or false
	Field         = "pipe"           // an object with prices, unavailable and explore, as POST /v1/decide has them
)

// Wishes are what a request changes of its decision.
type Wishes struct {
	decideapi.Wishes
	from []string // the headers and the field that say it, for errors; none: nothing is changed
}

// most bounds the fees and exclusions of a header.
const most = 4096

// Error means that a header or the field cannot be read.
type Error struct{ Param, Msg string }

// Error says what is wrong.
func (e *Error) Error() string { return e.Msg }

// UnfitError means that what a request changes of its decision does not fit the policy.
type UnfitError struct {
	From []string // the headers and the field that say it
	Err  error
}

// Error says where the wishes are and what is wrong.
func (e *UnfitError) Error() string { return strings.Join(e.From, ", ") + ": " + e.Err.Error() }

// Unwrap returns the underlying error.
func (e *UnfitError) Unwrap() error { return e.Err }

// Read reads the wishes of a request: the value of the field, nil without, and the headers. The error is an *[Error].
func Read(field json.RawMessage, h http.Header) (w Wishes, err error) {
	if field != nil {
		if w.Wishes, err = decideapi.ReadWishes(field); err != nil {
			return w, wrongField(err)
		}
		w.from = append(w.from, Field)
	}
	return w, w.readHeaders(h)
}

func (w *Wishes) readHeaders(h http.Header) error {
	for _, of := range []struct {
		name string
		read func(string) error
	}{{HeaderLambda, w.readLambda}, {HeaderFees, w.readFees}, {HeaderWithout, w.readWithout}, {HeaderExplore, w.readExplore}} {
		values := h.Values(of.name)
		if len(values) == 0 {
			continue
		}
		name := strings.ToLower(of.name)
		if err := of.read(strings.Join(values, ",")); err != nil {
			return &Error{name, "the header " + name + " " + err.Error()}
		}
		w.from = append(w.from, name)
	}
	return nil
}

// wrongField is the error of a field that cannot be read.
func wrongField(err error) *Error {
	param := Field
	if wrong, ok := errors.AsType[*decideapi.WishError](err); ok && wrong.Param != "" {
		param += "." + wrong.Param
	}
	return &Error{param, "the field " + Field + ": " + err.Error()}
}

func (w *Wishes) readLambda(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || v-v != 0 {
		return fmt.Errorf("is %.100q, which is not a number", text)
	}
	if w.Prices.Lambda != nil {
		return errors.New("is there, and so is prices.lambda in the field " + Field + "; send one of them")
	}
	w.Prices.Lambda = &v
	return nil
}

func (w *Wishes) readFees(text string) error {
	return eachOf(text, func(part string) error {
		fee, err := policy.ParseFee(part)
		if err != nil {
			return fmt.Errorf("has a wrong fee: %w", err)
		}
		w.Prices.Fees = append(w.Prices.Fees, fee)
		return nil
	})
}

func (w *Wishes) readWithout(text string) error {
	return eachOf(text, func(part string) error {
		p, err := policy.ParsePart(part)
		if err == nil {
			w.Prices.Without = Add(w.Prices.Without, p)
		}
		return err
	})
}

func (w *Wishes) readExplore(text string) error {
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
	if len(parts) > most {
		return fmt.Errorf("has %d elements; at most %d are read", len(parts), most)
	}
	for _, part := range parts {
		if err := f(strings.TrimSpace(part)); err != nil {
			return err
		}
	}
	return nil
}

// Add appends parts that a list does not have.
func Add(list []policy.Part, more ...policy.Part) []policy.Part {
	for _, p := range more {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// ErrNoExpert means that no expert of a policy can be called at present.
var ErrNoExpert = &decision.PriceError{Err: errors.New("the circuit breakers of all experts are open")}

// Exclude adds what the caller excludes to what cannot be chosen. Experts that only wait for their circuit breaker are no
// fault of the caller. The error is an *[UnfitError], or [ErrNoExpert].
func (w *Wishes) Exclude(actions *costs.Actions, without, waiting []policy.Part) ([]policy.Part, error) {
	all := Add(slices.Clone(without), w.Prices.Without...)
	if _, err := policy.Without(actions, all); err != nil && len(w.Prices.Without) > 0 {
		return nil, &UnfitError{w.from, err}
	}
	all = Add(all, waiting...)
	if _, err := policy.Without(actions, all); err != nil {
		return nil, ErrNoExpert
	}
	return all, nil
}

// Change are the prices of the request with everything that must not be chosen.
func (w *Wishes) Change(without []policy.Part) policy.PriceChange {
	c := w.Prices
	c.Without = without
	return c
}

// Explain names the wishes in an error about the prices of a request that has some.
func (w *Wishes) Explain(err error) error {
	var price *decision.PriceError
	if len(w.from) == 0 || !errors.As(err, &price) {
		return err
	}
	return &UnfitError{w.from, price}
}
