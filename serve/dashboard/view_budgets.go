package dashboard

import (
	"fmt"
	"time"

	"pipe/pipeline/report/page"
	"pipe/serve/budget"
)

// budgetsSection shows budgets. Those of keys are counted only: a key may see its own by GET /v1/budgets, and not those of others.
func budgetsSection(list []budget.State) page.Section {
	var terms []page.Term
	keys, full := map[string]int{}, map[string]int{}
	var names []string
	for i := range list {
		b := &list[i]
		if b.Of != budget.Key {
			terms = append(terms, budgetTerm(b))
			continue
		}
		if keys[b.Name]++; keys[b.Name] == 1 {
			names = append(names, b.Name)
		}
		if b.Full {
			full[b.Name]++
		}
	}
	for _, name := range names {
		terms = append(terms, page.Term{Name: name, About: fmt.Sprintf("of %s, %s without room; GET /v1/budgets has the figures", plural(int64(keys[name]), "key"), whole(int64(full[name])))})
	}
	return page.Section{ID: "budgets", Title: "Budgets", Blocks: []page.Block{{Terms: terms}}}
}

func budgetTerm(b *budget.State) page.Term {
	name := b.Name
	if b.Member != "" {
		name += " of " + b.Member
	}
	about := fmt.Sprintf("%s of %s %s are used until %s", cost(b.Spent), cost(b.Limit), b.Unit, b.Until.UTC().Format(time.RFC3339))
	if b.Shared {
		about = fmt.Sprintf("this server used %s of %s %s that it shares, until %s; %s are left for it", cost(b.Spent), cost(b.Limit), b.Unit, b.Until.UTC().Format(time.RFC3339), cost(b.Left))
	}
	switch {
	case b.Price > 0:
		about += fmt.Sprintf("; each unit costs %s more, so that it lasts for %s more", cost(b.Price), plural(int64(b.Due), "request"))
	default:
		about += "; it lasts without a price"
	}
	switch {
	case b.Failing:
		about += "; it cannot be written, so it stops soon"
	case b.Full:
		about += fmt.Sprintf("; it is used up: %s for it", countWas(b.Refused, "call")+" without room")
	}
	return page.Term{Name: name, About: about}
}
