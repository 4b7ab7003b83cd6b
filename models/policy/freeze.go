package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"pipe/costs"
	"pipe/onnx"
)

// WithoutKey is the key of the metadata of a frozen policy for the pairs that it must not choose besides those that do
// not exist: a JSON list as in [PriceChange].Without.
const WithoutKey = "without"

// FrozenKey is the key of the metadata of a frozen policy for the [Digest] of the any-price policy that it was cut from.
const FrozenKey = "frozen_from"

// UncheckedKey is the key of the metadata of a frozen policy for the Unchecked of [Prices], a JSON list.
const UncheckedKey = "unchecked_prices"

// keysOfPrices are the keys of figures about many prices, or about those of the training.
var keysOfPrices = []string{GuardKey, "validation"}

// FixedPrices are the prices of a file that is frozen: those of an any-price policy as c changes them. The error is [ErrFixedPrices] if the
// policy has no inputs for prices, and else that of [Info.Price]. Fees of pairs, and prices that a guarantee is not about, are errors too.
func (info *Info) FixedPrices(c PriceChange) (*Prices, error) {
	if info.Prices == nil {
		return nil, ErrFixedPrices
	}
	at, err := info.Price(c)
	switch {
	case err != nil:
		return nil, err
	case at.Pairs != nil:
		return nil, errors.New("a file with fixed prices has no place for fees of pairs")
	case info.Guarantee != nil && !info.Promises(at):
		return nil, errors.New("its guarantee is for other prices: fix the prices of the file without a guarantee, and calibrate the result")
	}
	return at, nil
}

// Freeze makes a policy with fixed prices of an any-price policy: the same graph, whose only input are the features. Its
// scores are those of m at these prices, bit for bit. The lambda and the fees of its metadata are the given ones. The
// guard and the losses in the metadata of m are about many prices, and are left out. m is not changed, and its constants
// are shared. The errors are those of [Info.FixedPrices].
func Freeze(m *onnx.Model, c PriceChange) (*onnx.Model, *Prices, error) {
	info, err := Parse(m)
	if err != nil {
		return nil, nil, err
	}
	at, err := info.FixedPrices(c)
	if err != nil {
		return nil, nil, err
	}
	out, err := m.WithConstants(at.Tensors())
	if err != nil {
		return nil, nil, fmt.Errorf("freeze policy: %w", err)
	}
	digest, err := Digest(m, info)
	if err != nil {
		return nil, nil, fmt.Errorf("freeze policy: %w", err)
	}
	out.SetMetadata(frozen(m.Metadata(), info.Actions, at, c, digest))
	if _, err := Parse(out); err != nil {
		return nil, nil, fmt.Errorf("freeze policy: %w", err)
	}
	return out, at, nil
}

// frozen is the metadata of the frozen policy.
func frozen(meta map[string]string, a *costs.Actions, at *Prices, c PriceChange, digest string) map[string]string {
	meta = FrozenMetadata(meta, a, at, c, digest)
	set := func(key, value string) { meta[keyPrefix+key] = value }
	set("format", strconv.Itoa(1))
	if text, ok := meta[keyPrefix+UsageKey]; ok {
		set("format", strconv.Itoa(3))
		set(UsageKey, pricedUsage(text, at.Usage))
	}
	if _, ok := meta[keyPrefix+RiskKey]; ok {
		set("format", strconv.Itoa(formatGuarantee))
	}
	return meta
}

// FrozenMetadata is the metadata of a file of any kind whose prices were fixed, but for the version of its format: meta is that of the file with
// the actions a and this [Digest], at are its fixed prices, and c is what made them.
func FrozenMetadata(meta map[string]string, a *costs.Actions, at *Prices, c PriceChange, digest string) map[string]string {
	meta = maps.Clone(meta)
	delete(meta, keyPrefix+PricesKey)
	set := func(key, value string) { meta[keyPrefix+key] = value }
	set("lambda", formatFloat(at.Lambda))
	set("actions", string(at.In(a).JSON()))
	set(FrozenKey, digest)
	list := func(key string, values []string) {
		if len(values) == 0 {
			return
		}
		b, err := json.Marshal(values)
		if err != nil {
			panic(err) // strings
		}
		set(key, string(b))
	}
	list(WithoutKey, textsOf(c.Without))
	list(UncheckedKey, at.Unchecked)
	for _, key := range keysOfPrices {
		delete(meta, keyPrefix+key)
	}
	return meta
}
