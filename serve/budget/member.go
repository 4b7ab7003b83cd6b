package budget

import (
	"sync"
	"time"

	"pipe/serve/ledger"
)

// member is a budget of one key, policy or expert, or of all calls together.
type member struct {
	*Budget
	of     string // the name; "" for all calls together
	ledger *ledger.Ledger
	pacer  pacer
	now    func() time.Time

	mu      sync.Mutex
	traffic traffic
	held    float64   // of calls that run
	rest    float64   // requests that are expected until the period ends
	known   time.Time // when that was computed
	counted int       // requests since then
}

// label is the name of the budget, with that of the member.
func (m *member) label() string {
	if m.of == "" {
		return m.Name
	}
	return m.Name + ":" + m.of
}

// memory is how long what came counts for the level of the traffic: less as the period ends, since what the last minutes brought then
// says more of the rest.
func memory(per ledger.Per, left time.Duration) time.Duration {
	longest := 3 * time.Hour
	switch per {
	case ledger.Minute:
		return 5 * time.Minute
	case ledger.Month:
		longest = 24 * time.Hour
	}
	return min(longest, max(left/4, 15*time.Minute))
}

// came counts a request that was decided on.
func (m *member) came() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.traffic.see(now, memory(m.Per, m.Per.Until(now).Sub(now)))
	m.counted++
}

// target is how much of the budget each request of the rest of the period may use.
func (m *member) target() float64 { return m.ledger.Left() / m.expected() }

// expected is how many requests are expected until the period ends, at least one. It is computed every few requests.
func (m *member) expected() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	const every = time.Minute
	now := m.now()
	until := m.Per.Until(now)
	if m.known.IsZero() || m.counted >= solveEvery || now.Sub(m.known) >= min(every, until.Sub(now)/16) || now.Before(m.known) {
		m.rest, m.known, m.counted = m.traffic.rest(now, until), now, 0
	}
	return max(1, m.rest-float64(m.counted))
}

// spend takes the most that a call can use. It waits for the disk where that is needed.
func (m *member) spend(most float64) (ledger.Charge, bool) {
	c, ok := m.ledger.SpendNow(most)
	if ok {
		m.hold(most)
	}
	return c, ok
}

func (m *member) hold(amount float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held += amount; m.held < 0 {
		m.held = 0
	}
}

// wait is after which time a request may be tried again that the budget had no room for: shortly, if calls that run hold what it
// needs, and else when the period ends.
func (m *member) wait(most float64) time.Duration {
	m.mu.Lock()
	held := m.held
	m.mu.Unlock()
	if held > 0 && m.ledger.Left()+held >= most {
		return time.Second
	}
	now := m.now()
	return m.Per.Until(now).Sub(now)
}

// State is the state of a budget.
type State struct {
	Name    string     `json:"name"`
	Of      Of         `json:"of"`
	Member  string     `json:"member,omitempty"` // name of the key, policy or expert
	Unit    string     `json:"unit"`             // money or tokens
	Limit   float64    `json:"limit"`            // of the period
	Per     ledger.Per `json:"per"`
	Period  string     `json:"period"` // such as 2026-01-31
	Until   time.Time  `json:"until"`  // when the period ends
	Spent   float64    `json:"spent"`  // by this server, calls that run included at the most that they can use
	Held    float64    `json:"held"`   // of that, of calls that run
	Left    float64    `json:"left"`   // for this server
	Price   float64    `json:"price"`  // of a unit of the budget, in money, beside what the unit costs
	Due     float64    `json:"due"`    // requests that are expected until the period ends
	AtEnd   AtEnd      `json:"at_end"`
	Refused int64      `json:"refused"` // amounts that the budget had no room for
	Full    bool       `json:"full"`    // one of them because nothing is left of the period
	Failing bool       `json:"failing"` // its file or folder cannot be written, so nothing is spent beyond what was reserved
	Shared  bool       `json:"shared"`  // with other servers
}

func (m *member) state(shared bool) State {
	l := m.ledger.State()
	m.mu.Lock()
	held := m.held
	m.mu.Unlock()
	return State{
		Name: m.Name, Of: m.Of, Member: m.of, Unit: m.Unit(), Limit: m.Limit(), Per: m.Per, Period: l.Day, Until: m.Per.Until(m.now()),
		Spent: l.Spent, Held: held, Left: m.ledger.Left(), Price: m.pacer.now(), Due: m.expected(), AtEnd: m.AtEnd,
		Refused: l.Refused, Full: l.Full, Failing: l.Failing, Shared: shared,
	}
}
