package dashboard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pipe/pipeline/report/page"
	"pipe/serve/ledger"
)

// ExplorationState is the state of the exploration, of the panel and of all ledgers.
type ExplorationState struct {
	How          string         `json:"how"` // such as epsilon 0.02
	Ledgers      []ledger.State `json:"ledgers"`
	SinceOutcome int64          `json:"since_outcome"` // decisions that could explore since the last outcome
	Within       int64          `json:"within"`        // decisions without an outcome after which exploration stops; 0: it never does
	Silent       bool           `json:"silent"`        // nothing is explored until an outcome comes
	Panel        *PanelState    `json:"panel,omitempty"`
}

// PanelState counts the requests that were drawn for a panel of the gateway since the start, by what became of them.
type PanelState struct {
	Share   float64          `json:"share"`
	Results map[string]int64 `json:"results"` // by name
}

// section shows the state.
func (e *ExplorationState) section() page.Section {
	terms := []page.Term{{Name: "exploration", About: e.How}}
	if e.Within > 0 {
		about := fmt.Sprintf("%s since the last one; after %s without one, nothing is explored", plural(e.SinceOutcome, "decision"), whole(e.Within))
		if e.Silent {
			about = fmt.Sprintf("none for %s: nothing is explored until one comes", plural(e.SinceOutcome, "decision"))
		}
		terms = append(terms, page.Term{Name: "outcomes", About: about})
	}
	if p := e.Panel; p != nil {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(p.Results)) {
			all = append(all, whole(p.Results[name])+" "+name)
		}
		terms = append(terms, page.Term{Name: "panel", About: fmt.Sprintf("%s of the requests, not counted elsewhere on this page; since the start: %s", percent(p.Share), strings.Join(all, ", "))})
	}
	for i := range e.Ledgers {
		l := &e.Ledgers[i]
		about := fmt.Sprintf("%s of %s are spent on %s (UTC)", cost(l.Spent), cost(l.Allowance), l.Day)
		switch {
		case l.Failing:
			about += "; its file cannot be written, so it stops soon"
		case l.Full:
			about += fmt.Sprintf("; it is used up: %s for it", countWas(l.Refused, "amount")+" not spent")
		}
		terms = append(terms, page.Term{Name: "ledger of " + l.Name, About: about})
	}
	return page.Section{ID: "exploration", Title: "Exploration", Blocks: []page.Block{{Terms: terms}}}
}

// warnings are sentences about what stops exploration.
func (e *ExplorationState) warnings() (list []string) {
	if e.Silent {
		list = append(list, fmt.Sprintf("Nothing is explored: no outcome came for the last %s.", plural(e.SinceOutcome, "decision")))
	}
	for _, l := range e.Ledgers {
		if l.Failing {
			list = append(list, fmt.Sprintf("The ledger of %s cannot be written, so it stops. The server's log says why.", l.Name))
		}
	}
	return list
}
