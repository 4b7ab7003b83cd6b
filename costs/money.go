package costs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"pipe/internal/strictjson"
)

// MoneyKey is the key in Tensor.Meta for what a loss is worth in money, see
// Money. It is absent if fees have no known currency.
const MoneyKey = "pipe.money"

// PricesKey is the key in Tensor.Meta for the prices from which fees were
// computed: a JSON object with the digest of the prices and the prices
// themselves.
const PricesKey = "pipe.prices"

// MeterKey is the key of policies and logs for how the measured fees of the
// tensor were made that a policy was trained on: what the tensor has under
// PricesKey, or {} if it has no prices. It is absent if the tensor has no
// measured fees.
const MeterKey = "pipe.measured_fees"

// Money says what losses and fees are worth: a loss of 1 is worth PerLoss in
// Currency.
type Money struct {
	Currency string  `json:"currency"`
	PerLoss  float64 `json:"per_loss"`
}

// mostPerLoss keeps sums of money finite.
const mostPerLoss = 1e15

// ParseMoney reads CURRENCY=VALUE, such as USD=40: a loss of 1 is worth 40 USD.
func ParseMoney(text string) (m Money, err error) {
	currency, value, found := strings.Cut(text, "=")
	if !found || strings.TrimSpace(currency) == "" {
		return m, fmt.Errorf("%q is not CURRENCY=VALUE, such as USD=40", text)
	}
	worth, err := strconv.ParseFloat(value, 64)
	if err != nil || !(worth > 0) || worth > mostPerLoss {
		return m, fmt.Errorf("%q: the value of a loss of 1 is not a positive number up to %g", text, mostPerLoss)
	}
	return Money{Currency: strings.TrimSpace(currency), PerLoss: worth}, nil
}

// MoneyOf reads the money of a tensor's metadata. ok is false if it has none.
func MoneyOf(meta map[string]string) (m Money, ok bool, err error) {
	text, ok := meta[MoneyKey]
	if !ok {
		return m, false, nil
	}
	if err := strictjson.Unmarshal([]byte(text), &m); err != nil {
		return m, false, &DataError{Msg: "metadata " + MoneyKey, Err: strictjson.Plain(err)}
	}
	if m.Currency == "" || !(m.PerLoss > 0) || m.PerLoss > mostPerLoss {
		return m, false, &DataError{Msg: fmt.Sprintf("metadata %s is %.60q; it needs a currency and a positive per_loss", MoneyKey, text)}
	}
	return m, true, nil
}

// MoneyFor is what a loss of a tensor is worth: what option says, as ParseMoney
// reads it, or with "" what the metadata say; nil if neither does. The fees of a
// tensor with money were computed from it. So another value in that currency
// would make other sums of them than were paid, and is an error.
func MoneyFor(meta map[string]string, option string) (*Money, error) {
	recorded, known, err := MoneyOf(meta)
	switch {
	case err != nil:
		return nil, err
	case option == "" && !known:
		return nil, nil
	case option == "":
		return &recorded, nil
	}
	m, err := ParseMoney(option)
	if err != nil {
		return nil, err
	}
	if known && m.Currency == recorded.Currency && m.PerLoss != recorded.PerLoss {
		return nil, &DataError{Msg: fmt.Sprintf("money: %s, but the fees of this table were made with a loss of 1 worth %g %s; import it with another fee_scale to change that",
			option, recorded.PerLoss, recorded.Currency)}
	}
	return &m, nil
}

// Text is the form that MoneyOf reads.
func (m Money) Text() string {
	b, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("costs: money cannot be written as JSON: %v", err))
	}
	return string(b)
}
