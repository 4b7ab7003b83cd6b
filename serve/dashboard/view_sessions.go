package dashboard

import (
	"fmt"

	"pipe/pipeline/report/page"
)

// SessionsState has what was counted of conversations over the gateway since the start.
type SessionsState struct {
	Sessions  int64   `json:"sessions"`
	Turns     int64   `json:"turns"`
	Switches  int64   `json:"switches"`      // turns that another expert answered than the turn before
	Priced    int64   `json:"kept_by_price"` // turns in which the expert stayed because of the price of a switch
	Looped    int64   `json:"kept_in_loop"`  // turns in which the expert stayed because its tool calls were open
	Predicted float64 `json:"predicted"`     // money of prompts, before the calls
	Billed    float64 `json:"billed"`        // money of the same prompts, as the services counted
	Open      int     `json:"open"`          // conversations that are remembered
	Evicted   int64   `json:"evicted"`       // conversations that were forgotten for want of room
}

// section shows the state.
func (s *SessionsState) section() page.Section {
	bills := "not known: no service said how many tokens of a prompt were cached, or prices are missing"
	if s.Billed > 0 {
		bills = fmt.Sprintf("%s predicted, %s billed", cost(s.Predicted), cost(s.Billed))
	}
	return page.Section{ID: "sessions", Title: "Sessions", Blocks: []page.Block{{Terms: []page.Term{
		{Name: "sessions", About: fmt.Sprintf("%s since the start, %s remembered, %s forgotten for want of room", whole(s.Sessions), whole(int64(s.Open)), whole(s.Evicted))},
		{Name: "turns", About: fmt.Sprintf("%s, %s by another expert than the one before", whole(s.Turns), whole(s.Switches))},
		{Name: "kept", About: fmt.Sprintf("%s because of the price of a switch, %s because tool calls were open", whole(s.Priced), whole(s.Looped))},
		{Name: "prompts", About: bills},
	}}}}
}
