package eval

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/models/policy"
)

// cautions are notes on what a reader of the report could otherwise miss.
func (e *evaluation) cautions(lambdas []float64) []string {
	var notes []string
	add := func(format string, args ...any) {
		if note := fmt.Sprintf(format, args...); !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if e.o.split == costs.Train {
		add("These rows were trained on: the figures flatter every learned method, knn included.")
	}
	notes = append(notes, e.t.IdlePrices(lambdas, false)...)
	for _, l := range slices.Concat(e.learned, e.anyPrice) {
		if l.prices != nil {
			e.priceCautions(add, l, lambdas)
		} else if !e.method(l).NoAdvice && !slices.Contains(lambdas, l.Info.Lambda) {
			add("Policies trained for lambda %g are left out: a policy is reported at its own lambda.", l.Info.Lambda)
			continue
		}
		if l.Info.Fixed >= 0 {
			add("%s", e.constantNote(l))
		}
		if l.prices != nil && l.prices.info.Guard != nil && l.prices.info.Guard.Fallback {
			add("%s takes the best fixed pair of every price, whatever the features: its guard fell back.", e.called(l))
		}
		if fees := l.changedFees(e.t); len(fees) > 0 {
			add("%s was trained with other fees than this tensor has: %s. True losses count the fees of the tensor; the policy chose by its own.",
				e.called(l), costs.ListFees(fees))
		}
		if l.Encoder != "" {
			add("%s has the encoder %s in front, which did not run: the policy behind it took the features of the tensor.", e.called(l), l.Encoder)
		}
		if e.otherTable(l.Info.Info) {
			add("%s was trained on another table than this one: rows that are reported here may be among those that it learned from.", e.called(l))
		}
	}
	for _, c := range slices.Concat(e.cascades, e.anyCascades) {
		name := filepath.Base(c.file)
		if c.prices != nil {
			uncheckedNotes(add, name, lambdas, func(lambda float64) *policy.Prices { return c.info.PriceAt(e.t.Actions, lambda) })
			continue
		}
		if !slices.Contains(lambdas, c.info.Lambda) {
			add("%s is left out: it was trained for lambda %g, and a cascade is reported at its own lambda.", name, c.info.Lambda)
			continue
		}
		if fees := c.info.Actions.ChangedFees(e.t.Actions); len(fees) > 0 {
			add("%s was trained with other fees than this tensor has: %s. True losses count the fees of the tensor; the cascade chose by its own.", name, costs.ListFees(fees))
		}
	}
	return notes
}

// constantNote describes a constant policy: its pair, and whether it is a fallback of the guard.
func (e *evaluation) constantNote(l entry) string {
	pair := e.t.Actions.Name(l.Info.Fixed)
	g := l.Info.Guard
	if g == nil || !g.Fallback {
		return fmt.Sprintf("%s is a constant: it always plays %s.", e.called(l), pair)
	}
	_, reason := g.Verdict()
	return fmt.Sprintf("%s is a constant: it always plays %s. The guard fell back to it: %s.", e.called(l), pair, reason)
}

// priceCautions are notes on the prices of the report that an any-price policy was not checked on.
func (e *evaluation) priceCautions(add func(format string, args ...any), l entry, lambdas []float64) {
	if l.prices.info.Usage != nil && l.prices.usage == nil {
		add("%s decided at the prices of what calls use of its training: this tensor records none. With --prices FILE it decides at those of a file.", e.called(l))
	}
	uncheckedNotes(add, e.called(l), lambdas, func(lambda float64) *policy.Prices { return l.prices.info.PriceAt(e.t.Actions, lambda, l.prices.usage) })
}

// uncheckedNotes are notes on the prices of the report that what has this name was not checked on.
func uncheckedNotes(add func(format string, args ...any), name string, lambdas []float64, at func(lambda float64) *policy.Prices) {
	for _, lambda := range lambdas {
		if why := at(lambda).Unchecked; len(why) > 0 {
			add("%s was not checked on the prices at lambda %g: %s.", name, lambda, strings.Join(why, "; "))
		}
	}
}
